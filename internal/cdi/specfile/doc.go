// Package specfile knows what engines accept as a Container Device Interface
// (CDI) spec, and reads specs that are plain JSON. It links neither the CDI
// library's cache nor a YAML parser, for programs whose start a container waits
// for; package cdi reads the rest.
package specfile
