// Package yamlspec reads Container Device Interface (CDI) specs as engines do:
// with a YAML parser, also if they are JSON. A program that links it takes a
// third of a millisecond longer to start; specfile reads plain JSON without it.
package yamlspec
