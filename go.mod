module github.com/parleyhub/parley

go 1.26
