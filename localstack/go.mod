module sealift/localstack

go 1.26
