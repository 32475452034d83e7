// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
)

// Image is the daemon's description of one image.
type Image struct {
	ID           string `json:"Id"` // "sha256:…"
	Os           string // "linux"
	Architecture string // "amd64"
	Variant      string // "v8", mostly empty
	// GraphDriver is what holds the layers: "overlay2".
	GraphDriver struct{ Name string }
	Config      struct {
		Env     []string // NAME=VALUE
		Labels  map[string]string
		Volumes map[string]struct{} // by their paths
	}
}

// Platform is the image's platform in docker's form: "linux/amd64".
func (i Image) Platform() string {
	return strings.TrimRight(i.Os+"/"+i.Architecture+"/"+i.Variant, "/")
}

var errNoImageID = errors.New("an image without an ID")

// Image returns the image that docker run would use for the reference. The error is
// ErrNotFound if the daemon does not have it. The platform is docker's ("linux/arm64",
// "arm64"); empty leaves it to the daemon. A daemon before Docker 28.1 (API 1.49)
// ignores the platform and describes the image that it has.
func (d Daemon) Image(ctx context.Context, ref, platform string) (Image, error) {
	path := "/images/" + url.PathEscape(ref) + "/json"
	if platform != "" {
		text, err := json.Marshal(newPlatform(platform))
		if err != nil {
			return Image{}, fmt.Errorf("inspect image %q: %w", ref, err)
		}
		path += "?platform=" + url.QueryEscape(string(text))
	}
	_, body, err := d.Get(ctx, path)
	if err != nil {
		return Image{}, fmt.Errorf("inspect image %q: %w", ref, err)
	}
	i, err := decodeImage(body)
	if err != nil {
		return Image{}, fmt.Errorf("inspect image %q: read the answer of the docker daemon at %s: %w", ref, d.Socket, err)
	}
	return i, nil
}

func decodeImage(body []byte) (Image, error) {
	var i Image
	err := json.Unmarshal(body, &i)
	if err == nil && i.ID == "" {
		err = errNoImageID
	}
	return i, err
}

// platform is a platform in the form of docker's API.
type platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Variant      string `json:"variant,omitempty"`
}

// newPlatform parses docker's --platform, in which one part may be missing.
func newPlatform(text string) platform {
	p := platform{OS: "linux", Architecture: runtime.GOARCH}
	words := strings.SplitN(text, "/", 3)
	switch {
	case len(words) > 1:
		p.OS, p.Architecture = words[0], words[1]
	case text == "linux" || text == "windows":
		p.OS = text
	default:
		p.Architecture = text
	}
	if len(words) > 2 {
		p.Variant = words[2]
	}
	return p
}
