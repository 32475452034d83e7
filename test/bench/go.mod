module github.com/metax-ctk/container-toolkit/test/bench

go 1.26.0
