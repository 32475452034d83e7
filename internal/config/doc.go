// SPDX-License-Identifier: Apache-2.0

// Package config has the settings of the toolkit, and where the value of each comes
// from: an option on the command line, the environment, the configuration file, or the
// default, in this order of precedence.
//
// One table of settings defines what Load reads, which values are valid, the file of
// defaults and the table in the manual. The package reads bytes and an environment that
// it is given; other packages interpret the values, and write the file.
package config
