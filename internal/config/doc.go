// Package config holds the settings of the toolkit and where each came from: an
// option on the command line, the environment, the configuration file, or the
// default, in this order of precedence.
//
// One table of settings is the source of all of it: what Load reads, what a value
// may be, the file of defaults and the table in the manual. The package reads
// bytes and an environment that it is given; what a value means is the business of
// whoever uses it, and so is writing the file.
package config
