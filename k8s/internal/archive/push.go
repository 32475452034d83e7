// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push pushes parts to a registry, below a project of it, and calls each with the name of
// each, as NAME:TAG@DIGEST. The login is that of docker's configuration (docker login, helm
// registry login).
func Push(ctx context.Context, parts []Part, to string, plain bool, each func(reference string)) error {
	var options []name.Option
	if plain {
		options = append(options, name.Insecure)
	}
	if _, err := name.NewRepository(to+"/x", append(options, name.StrictValidation)...); err != nil ||
		!strings.Contains(to, "/") {
		return fmt.Errorf("%q is not a registry with a project: want DOMAIN/PROJECT, such as hub.example.com/metax", to)
	}
	with := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	for _, p := range parts {
		reference, err := name.NewTag(to+"/"+p.String(), options...)
		if err == nil && p.Index != nil {
			err = remote.WriteIndex(reference, p.Index, with...)
		} else if err == nil {
			err = remote.Write(reference, p.Image, with...)
		}
		digest, failed := p.digest()
		if err = errors.Join(err, failed); err != nil {
			return fmt.Errorf("push %s to %s: %w", p, to, err)
		}
		each(reference.String() + "@" + digest.String())
	}
	return nil
}
