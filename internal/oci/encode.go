package oci

import (
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// object is a JSON object that is being written. A name whose value is the zero
// one is left out by the methods that begin with "opt".
type object []byte

func (o *object) name(name string) {
	if len(*o) == 0 {
		*o = append(*o, '{')
	} else {
		*o = append(*o, ',')
	}
	*o = append(jsontree.AppendString(*o, name), ':')
}

func (o *object) text(name, s string) {
	o.name(name)
	*o = jsontree.AppendString(*o, s)
}

func (o *object) optText(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

func (o *object) optTexts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	o.name(name)
	for i, s := range list {
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		*o = jsontree.AppendString(append(*o, sep), s)
	}
	*o = append(*o, ']')
}

func (o *object) number(name string, n int64) {
	o.name(name)
	*o = strconv.AppendInt(*o, n, 10)
}

func (o *object) optID(name string, id *uint32) {
	if id != nil {
		o.number(name, int64(*id))
	}
}

func (o *object) optTrue(name string, b bool) {
	if b {
		o.name(name)
		*o = append(*o, "true"...)
	}
}

// end returns the object.
func (o *object) end() []byte {
	if len(*o) == 0 {
		*o = append(*o, '{')
	}
	return append(*o, '}')
}
