/* A Kafka for tests: librdkafka's mock cluster of one broker on loopback, or with an argument the
 * broker there. Prints its address, then does what each line of standard input says, and answers
 * each with a line `ok ...`; bytes are hexadecimal behind an x, `-` is none:
 *
 *   topic NAME PARTITIONS             of the mock cluster only
 *   produce TOPIC PARTITION KEY VALUE [NAME=VALUE]...  ... its headers
 *   fill TOPIC PARTITION BYTES        produces so many bytes of x
 *   read TOPIC PARTITION              `message OFFSET KEY VALUE [NAME=VALUE]...`, from the first
 *                                     on, that is committed (the mock cluster has all as committed)
 *   committed GROUP TOPIC PARTITION   answers the offset
 *   refuse CODE [REQUESTS]            an error of Kafka for all that is produced, or only for so
 *                                     many requests; 0: none
 *   down, up                          the broker */
#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 30000
#define PRODUCE 0 /* ApiKey of the protocol */

static const char *bootstrap;
static rd_kafka_t *producer;
static rd_kafka_mock_cluster_t *mock; /* NULL: a real broker */

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static rd_kafka_t *connect_to(rd_kafka_type_t type, const char *address, const char *group)
{
    char why[512];
    const char *const settings[][2] = {
        {address ? "bootstrap.servers" : "test.mock.num.brokers", address ? address : "1"},
        {"group.id", group},
        {"message.max.bytes", "100000000"},
        {"receive.message.max.bytes", "200000000"},
        {"auto.offset.reset", "earliest"},
        {"enable.auto.commit", "false"},
        {"enable.partition.eof", "true"},
        {"isolation.level", "read_committed"},
        {"fetch.wait.max.ms", "20"},
        {"log_level", "0"},
    };
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (rd_kafka_conf_set(conf, settings[i][0], settings[i][1], why, sizeof why) != 0)
            fail(settings[i][0], why);
    rd_kafka_t *rk = rd_kafka_new(type, conf, why, sizeof why);
    if (!rk)
        fail("rd_kafka_new", why);
    return rk;
}

static void print_hex(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    putchar(p ? 'x' : '-');
    for (size_t i = 0; p && i < n; i++)
        printf("%02x", p[i]);
}

/* In place; NULL: none. */
static void *from_hex(char *text, size_t *ret_n)
{
    *ret_n = 0;
    if (strcmp(text, "-") == 0)
        return NULL;
    for (char *p = text + 1; p[0] && p[1]; p += 2) {
        const char digits[] = {p[0], p[1], '\0'};
        text[(*ret_n)++] = (char)strtoul(digits, NULL, 16);
    }
    return text;
}

struct bytes {
    void *p;
    size_t n;
};

static void send_message(const char *topic, const char *partition, struct bytes key,
                         struct bytes value, rd_kafka_headers_t *headers)
{
    rd_kafka_resp_err_t error = rd_kafka_producev(
        producer, RD_KAFKA_V_TOPIC(topic),
        RD_KAFKA_V_PARTITION((int32_t)strtol(partition, NULL, 10)), RD_KAFKA_V_KEY(key.p, key.n),
        RD_KAFKA_V_VALUE(value.p, value.n), RD_KAFKA_V_HEADERS(headers),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    if (error || rd_kafka_flush(producer, WAIT_MS) != 0)
        fail("produce", rd_kafka_err2str(error));
    puts("ok");
}

static void produce(char *const words[], char **more)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(4);
    struct bytes key, value;
    size_t of_header;
    for (char *word; (word = strtok_r(NULL, " ", more));) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        void *bytes = from_hex(equals + 1, &of_header);
        rd_kafka_header_add(headers, word, -1, bytes, (ssize_t)of_header);
    }
    key.p = from_hex(words[2], &key.n);
    value.p = from_hex(words[3], &value.n);
    send_message(words[0], words[1], key, value, headers);
}

static void fill(const char *topic, const char *partition, const char *bytes)
{
    size_t n = strtoul(bytes, NULL, 10);
    char *value = malloc(n);
    memset(value, 'x', n);
    send_message(topic, partition, (struct bytes){0}, (struct bytes){value, n},
                 rd_kafka_headers_new(1));
    free(value);
}

static void print_message(const rd_kafka_message_t *m)
{
    rd_kafka_headers_t *headers = NULL;
    const char *name;
    const void *value;
    size_t n;
    printf("message %lld ", (long long)m->offset);
    print_hex(m->key, m->key_len);
    putchar(' ');
    print_hex(m->payload, m->len);
    if (rd_kafka_message_headers(m, &headers) == 0)
        for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &n) == 0; i++) {
            printf(" %s=", name);
            print_hex(value, n);
        }
    putchar('\n');
}

static void read_topic(const char *topic, const char *partition)
{
    rd_kafka_t *consumer = connect_to(RD_KAFKA_CONSUMER, bootstrap, "reader");
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(all, topic, (int32_t)strtol(partition, NULL, 10))->offset =
        RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(consumer, all);
    for (bool more = true; more;) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(consumer, WAIT_MS);
        more = m && m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF &&
               m->err != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
        if (more && !m->err)
            print_message(m);
        if (m)
            rd_kafka_message_destroy(m);
    }
    rd_kafka_topic_partition_list_destroy(all);
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
    puts("ok");
}

static void print_committed(const char *group, const char *topic, const char *partition)
{
    rd_kafka_t *consumer = connect_to(RD_KAFKA_CONSUMER, bootstrap, group);
    rd_kafka_topic_partition_list_t *of = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(of, topic, (int32_t)strtol(partition, NULL, 10));
    rd_kafka_resp_err_t error = rd_kafka_committed(consumer, of, WAIT_MS);
    if (error)
        fail("committed", rd_kafka_err2str(error));
    printf("ok %lld\n", (long long)of->elems[0].offset);
    rd_kafka_topic_partition_list_destroy(of);
    rd_kafka_destroy(consumer);
}

static void refuse(const char *code, const char *requests)
{
    static rd_kafka_resp_err_t errors[10000];
    size_t most = sizeof errors / sizeof errors[0];
    size_t count = requests ? strtoul(requests, NULL, 10) : most;
    for (size_t i = 0; i < most; i++)
        errors[i] = (rd_kafka_resp_err_t)strtol(code, NULL, 10);
    rd_kafka_mock_clear_request_errors(mock, PRODUCE);
    if (errors[0])
        rd_kafka_mock_push_request_errors_array(mock, PRODUCE, count < most ? count : most, errors);
    puts("ok");
}

static void set_down(bool down)
{
    if (down)
        rd_kafka_mock_broker_set_down(mock, 1);
    else
        rd_kafka_mock_broker_set_up(mock, 1);
    puts("ok");
}

static void obey(char *line)
{
    char *more = NULL, *verb = strtok_r(line, " \n", &more), *words[4] = {0};
    size_t wanted = strcmp(verb, "down") == 0 || strcmp(verb, "up") == 0 ? 0 : 3;
    if (strcmp(verb, "topic") == 0 || strcmp(verb, "read") == 0)
        wanted = 2;
    if (strcmp(verb, "refuse") == 0)
        wanted = 1;
    if (strcmp(verb, "produce") == 0)
        wanted = 4;
    for (size_t i = 0; i < wanted; i++)
        if (!(words[i] = strtok_r(NULL, " \n", &more)))
            fail(verb, "a word is missing");
    if (strcmp(verb, "topic") == 0 && mock)
        rd_kafka_mock_topic_create(mock, words[0], (int)strtol(words[1], NULL, 10), 1);
    if (strcmp(verb, "topic") == 0)
        puts("ok");
    else if (strcmp(verb, "produce") == 0)
        produce(words, &more);
    else if (strcmp(verb, "fill") == 0)
        fill(words[0], words[1], words[2]);
    else if (strcmp(verb, "read") == 0)
        read_topic(words[0], words[1]);
    else if (strcmp(verb, "committed") == 0)
        print_committed(words[0], words[1], words[2]);
    else if (strcmp(verb, "refuse") == 0)
        refuse(words[0], strtok_r(NULL, " \n", &more));
    else
        set_down(strcmp(verb, "down") == 0);
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t capacity = 0;
    bootstrap = argc > 1 ? argv[1] : NULL;
    producer = connect_to(RD_KAFKA_PRODUCER, bootstrap, "peer");
    if (!bootstrap) {
        mock = rd_kafka_handle_mock_cluster(producer);
        bootstrap = rd_kafka_mock_cluster_bootstraps(mock);
    }
    puts(bootstrap);
    fflush(stdout);
    while (getline(&line, &capacity, stdin) > 0) {
        if (line[strlen(line) - 1] == '\n')
            line[strlen(line) - 1] = '\0';
        obey(line);
        fflush(stdout);
    }
    free(line);
    rd_kafka_destroy(producer);
    return 0;
}
