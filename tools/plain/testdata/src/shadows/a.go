package shadows

import (
	"path"
	str "strings"
)

func base(path string) string { // want `give it another name: the file imports a package path`
	return str.ToLower(path)
}

func join(strings []string) (str string) { // want `give it another name: the file imports a package str`
	type named struct{ path string }
	for _, element := range strings {
		str += named{path: element}.path
	}
	return str
}

func dir(name string) string { return path.Dir(name) }
