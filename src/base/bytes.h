/* Numbers as bytes in a fixed order, at any address: for files, the network and keys of hashes. */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void put_le32(void *at, uint32_t v)
{
    uint32_t bytes = htole32(v);
    memcpy(at, &bytes, sizeof bytes);
}

static inline void put_le64(void *at, uint64_t v)
{
    uint64_t bytes = htole64(v);
    memcpy(at, &bytes, sizeof bytes);
}

static inline void put_be32(void *at, uint32_t v)
{
    uint32_t bytes = htobe32(v);
    memcpy(at, &bytes, sizeof bytes);
}

static inline void put_be64(void *at, uint64_t v)
{
    uint64_t bytes = htobe64(v);
    memcpy(at, &bytes, sizeof bytes);
}

static inline uint32_t get_le32(const void *at)
{
    uint32_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    return le32toh(bytes);
}

static inline uint64_t get_le64(const void *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    return le64toh(bytes);
}

static inline uint32_t get_be32(const void *at)
{
    uint32_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    return be32toh(bytes);
}

static inline uint64_t get_be64(const void *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    return be64toh(bytes);
}
