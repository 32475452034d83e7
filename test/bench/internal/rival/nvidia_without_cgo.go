//go:build !cgo

package rival

import "errors"

// nvidia needs C to build.
func nvidia(Node) ([]allocator, error) {
	return nil, errors.New("build go-gpuallocator: it needs a C compiler, and CGO_ENABLED=1")
}
