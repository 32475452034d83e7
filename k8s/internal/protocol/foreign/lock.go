// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Lock is the value of LockAnnotation: the pod that a scheduler binds to the node now, and
// which alone may be given slices. The zero Lock names no pod.
type Lock struct{ Namespace, Pod string }

const maxLock = 512

// ParseLock reads a LockAnnotation: "2026-08-21T10:00:00Z,namespace,pod". A bare time, its old
// form, gives the zero Lock. The time does not matter: how long a lock is valid is up to those
// who take it. The error is a protocol.ErrAnnotation.
func ParseLock(text string) (Lock, error) {
	if len(text) > maxLock {
		return Lock{}, protocol.Invalid(LockAnnotation, "%d bytes; at most %d are read", len(text), maxLock)
	}
	words := strings.Split(text, ",")
	if len(words) == 1 {
		return Lock{}, nil
	}
	if len(words) != 3 || len(validation.IsDNS1123Label(words[1])) > 0 ||
		len(validation.IsDNS1123Subdomain(words[2])) > 0 {
		return Lock{}, protocol.Invalid(LockAnnotation, "%.80q; want TIME,NAMESPACE,POD", text)
	}
	return Lock{words[1], words[2]}, nil
}
