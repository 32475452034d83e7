// SPDX-License-Identifier: Apache-2.0

package dockerd_test

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
)

func TestImage(t *testing.T) {
	for _, file := range []string{"28-image.json", "20.10-image.json"} {
		got, err := replay(t, "/images/localhost%2Fmetax-e2e%2Fmaca:4/json", answer(t, file)).Image(t.Context(), "localhost/metax-e2e/maca:4", "")
		if err != nil {
			t.Fatal(err)
		}
		var want dockerd.Image
		want.ID = "sha256:e4342be8039acb3bd93d8ad8ec3e676550fe4d3765e5abdea06438a86894b55f"
		want.Os, want.Architecture = "linux", "amd64"
		want.GraphDriver.Name = "overlay2"
		want.Config.Env = []string{"PATH=/", "MACA_PATH=/opt/maca"}
		want.Config.Labels = map[string]string{"com.example.maca.version": "2.0"}
		want.Config.Volumes = map[string]struct{}{"/data": {}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
		if got.Platform() != "linux/amd64" {
			t.Errorf("platform %q", got.Platform())
		}
	}
}

func TestImagePlatform(t *testing.T) {
	here := `"os":"linux","architecture":"` + runtime.GOARCH + `"`
	for platform, want := range map[string]string{
		"linux/arm64": `{"os":"linux","architecture":"arm64"}`, "linux/arm/v7": `{"os":"linux","architecture":"arm","variant":"v7"}`,
		"arm64": `{"os":"linux","architecture":"arm64"}`, "linux": "{" + here + "}", "": "",
	} {
		socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.Query().Get("platform"); got != want {
				t.Errorf("%q is %s, want %s", platform, got, want)
			}
			io.WriteString(w, `{"Id":"sha256:a"}`)
		})
		if _, err := (dockerd.Daemon{Socket: socket}).Image(t.Context(), "x", platform); err != nil {
			t.Error(err)
		}
	}
}

func TestImageTrouble(t *testing.T) {
	for _, text := range []string{"", "null", "{}", `{"Id":"a"`, `[{"Id":"a"}]`} {
		d := replay(t, "/images/x/json", []byte(text))
		if got, err := d.Image(t.Context(), "x", ""); err == nil || got.ID != "" && text != `{"Id":"a"` || !strings.Contains(err.Error(), d.Socket) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	socket := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"message":"No such image: x"}`)
	})
	if _, err := (dockerd.Daemon{Socket: socket}).Image(t.Context(), "x", ""); !errors.Is(err, dockerd.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
