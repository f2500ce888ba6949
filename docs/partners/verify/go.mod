module verify

go 1.18
