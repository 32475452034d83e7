// SPDX-License-Identifier: Apache-2.0

// Package svg writes the elements of a picture, and has the colors and fonts of all
// pictures of this project. It escapes every text. What a picture shows, and where, is up
// to the package that draws it.
package svg
