// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScanMACA(t *testing.T) {
	for in, want := range map[string]Options{
		"run --maca img":                                     {MACA: MACA{Given: true}},
		"run --maca=3.3.0.15-c600u img":                      {MACA: MACA{Given: true, Version: "3.3.0.15-c600u"}},
		"run --maca=1 img":                                   {MACA: MACA{Given: true, Version: "1"}},
		"run --maca-force img":                               {MACA: MACA{Given: true, Force: true}},
		"run --maca-force=3.3 img":                           {MACA: MACA{Given: true, Force: true, Version: "3.3"}},
		"run --maca=3.3 --maca-force img":                    {MACA: MACA{Given: true, Force: true, Version: "3.3"}},
		"run --maca-force=3.3 --maca=3.3 img":                {MACA: MACA{Given: true, Force: true, Version: "3.3"}},
		"run --maca=false img":                               {MACA: MACA{Off: true}},
		"run --maca=false --maca-force=false img":            {MACA: MACA{Off: true}},
		"run --maca --maca-force=false img":                  {MACA: MACA{Given: true, Off: true}},
		"run --maca=true --dry-run --inject=flags img":       {MACA: MACA{Given: true}, DryRun: true, Inject: InjectFlags},
		"create --maca --maca-check strict img":              {MACA: MACA{Given: true}, MACACheck: MACACheckStrict},
		"run --gpus=1 --maca-check=off img":                  {GPUs: "1", MACACheck: MACACheckOff},
		"run --gpus 2 --maca --gpus-explain --rm -- img x y": {GPUs: "2", Explain: true, MACA: MACA{Given: true}},
	} {
		cmd, err := Scan(words(in), Docker())
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if d := cmp.Diff(want, cmd.Options); d != "" || !cmd.Gives() || cmd.Image != "img" || cmd.TakesGPU != (want.GPUs != "") {
			t.Errorf("%s: gives %t, takes GPU %t, image %q, -want +got:\n%s", in, cmd.Gives(), cmd.TakesGPU, cmd.Image, d)
		}
	}
}

// Overriding flags are after the user's, and before the word that ends flags.
func TestRewriteWith(t *testing.T) {
	for in, want := range map[string]string{
		"run --maca -e A=b img c":            "run IN -e A=b LAST img c",
		"run -e A=b --maca img":              "run -e A=b IN LAST img",
		"run --rm --maca -it -- img --maca":  "run --rm IN -it LAST -- img --maca",
		"run --maca --gpus=1 --rm img":       "run IN --rm LAST img",
		"run --gpus 1 --maca-force --rm img": "run IN --rm LAST img",
		"run --maca --dry-run img":           "run IN LAST img",
	} {
		cmd, err := Scan(words(in), Docker())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, join(cmd.RewriteWith([]string{"IN"}, []string{"LAST"}))); d != "" {
			t.Errorf("%s: -want +got:\n%s", in, d)
		}
	}
}

func TestGlobalWords(t *testing.T) {
	for in, want := range map[string]string{
		"run --maca img": "",
		"--config /c -DH tcp://x --context=y container run --rm --maca img": "--config /c -DH tcp://x --context=y",
		"-D -l debug create --maca img":                                     "-D -l debug",
	} {
		cmd, err := Scan(words(in), Docker())
		if err != nil {
			t.Fatal(err)
		}
		if got := join(cmd.GlobalWords()); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
