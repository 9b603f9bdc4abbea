module sealift

go 1.26
