// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"regexp"
	"strings"
)

// Image is a reference to an image in the parts that the values of the charts have.
type Image struct {
	Registry string // with the path before the name, such as ghcr.io/metax-ctk
	Name     string
	Version  string // a tag, or sha256:DIGEST
}

var image = regexp.MustCompile(
	`^([^\s@]+)/([a-z0-9]+(?:[._-]+[a-z0-9]+)*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})|@(sha256:[0-9a-f]{64}))$`)

// ParseImage reads REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST.
func ParseImage(text string) (Image, error) {
	m := image.FindStringSubmatch(text)
	if m == nil {
		return Image{}, fmt.Errorf("image %q: want REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST", text)
	}
	return Image{Registry: m[1], Name: m[2], Version: m[3] + m[4]}, nil
}

var vendorRegistry = regexp.MustCompile(`^([A-Za-z0-9-]+\.)*metax-tech\.com([:/]|$)`)

// IsVendorImage reports whether an image holds a program of the vendor's: it is in a registry
// of the vendor's, or has a name alone, as the vendor's chart writes it.
func IsVendorImage(text string) bool {
	return vendorRegistry.MatchString(text) || !strings.ContainsAny(text, "/:@")
}
