// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/doctor"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/setup"
	"github.com/metax-ctk/container-toolkit/internal/top"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// documentKind is a kind of JSON document: the type of its value, and command lines that
// print one. A list is in the items of its document.
type documentKind struct {
	value any
	lines []string
}

// documentKinds are all kinds. Types that a command declares for itself are repeated here;
// the strict validation finds where they differ.
func documentKinds() map[string]documentKind {
	type simulated struct {
		Name    string  `json:"name"`
		GPUs    int     `json:"gpus"`
		Model   string  `json:"model"`
		Domains [][]int `json:"domains"`
	}
	type madeNode struct {
		Node string `json:"node"`
		Root string `json:"root"`
		GPUs int    `json:"gpus"`
	}
	type released struct {
		Released []ps.Lease `json:"released"`
		Ended    []string   `json:"ended,omitempty"`
	}
	type removed struct {
		Removed []sliceRow `json:"removed"`
	}
	type installations struct {
		Installations []maca.Summary `json:"installations"`
	}
	type programVersion struct {
		Version string `json:"version"`
		Go      string `json:"go"`
		OS      string `json:"os"`
		Arch    string `json:"arch"`
	}
	return map[string]documentKind{
		"Node":                 {gpu.Node{}, []string{"device list", "--root / --node c500-8-sgpu device list", "--root / --node c500-8-degraded device list"}},
		"TopologyPrint":        {topologyJSON{}, []string{"topology print", "topology print --pick 2 --explain"}},
		"TopologyScore":        {scoredNode{}, []string{"topology score 2", "topology score --all --policy mtf"}},
		"Pick":                 {picked{}, []string{"pick 2", "pick 4 --explain --policy weighted:10,1"}},
		"Health":               {healthReport{}, []string{"health", "--root / --node c500-4-degraded health"}},
		"HealthChange":         {healthChange{}, nil}, // of --watch, which does not end
		"Wait":                 {waited{}, []string{"--root / --node c500-8 wait 2 --timeout 0s"}},
		"Top":                  {top.Top{}, []string{"--root / --node c500-8 top --once"}},
		"Occupancy":            {ps.Occupancy{}, []string{"ps"}},
		"LeaseList":            {ps.Leases{}, []string{"lease list"}},
		"LeaseRelease":         {released{}, nil}, // needs a lease
		"LeaseGc":              {released{}, []string{"lease gc"}},
		"LeaseInit":            {ledger.Directory{}, []string{"lease init"}},
		"SgpuList":             {[]sliceRow{}, []string{"--root / --node c500-8-sgpu sgpu list"}},
		"SgpuCreate":           {created{}, []string{"--root CUT sgpu create 2 --compute 5 --vram 1G"}},
		"SgpuRemove":           {removed{}, []string{"--root CUT sgpu remove SLICE"}},
		"CdiGenerate":          {refresh.Generation{}, []string{"cdi generate", "cdi generate --class gpu"}},
		"CdiList":              {cdi.Listing{}, []string{"cdi list"}},
		"CdiCheck":             {refresh.Checked{}, []string{"cdi check"}},
		"CdiDiffList":          {[]cdi.Difference{}, []string{"cdi diff", "cdi diff OTHER"}},
		"MacaList":             {installations{}, []string{"maca list"}},
		"MacaCheck":            {maca.Checked{}, []string{"maca check"}},
		"RuntimeConfigureList": {[]setup.Outcome{}, []string{"runtime configure --engine docker --dry-run"}},
		"Setup":                {hostSetup{}, []string{"setup --dry-run"}},
		"RuntimeWitnessList":   {[]string{}, []string{"runtime witness"}},
		"Diagnosis":            {doctor.Report{}, []string{"doctor"}},
		"DoctorList":           {[]doctor.Check{}, []string{"doctor --list"}},
		"Snapshot":             {savedSnapshot{}, []string{"snapshot --output s.txt"}},
		"Bugreport":            {savedSnapshot{}, []string{"bugreport --output b.txt"}},
		"Configuration":        {configuration{}, []string{"config show", "config default"}},
		"Setting":              {configured{}, []string{"config show node", "config show gpus.ignore"}},
		"ConfigSet":            {configEdited{}, []string{"config set gpus.policy=binpack --dry-run"}},
		"ConfigUnset":          {configEdited{}, []string{"config unset gpus.policy --dry-run"}},
		"ConfigValidate":       {configChecked{}, []string{"config validate"}},
		"SimList":              {[]simulated{}, []string{"sim list"}},
		"SimCreate":            {madeNode{}, []string{"sim create c500-1 new"}},
		"Version":              {programVersion{}, []string{"version"}},
	}
}

// schemaOf returns the schema of a kind, made from the type of its value.
func schemaOf(t *testing.T, kind string, value any) *jsonschema.Schema {
	t.Helper()
	words := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[gpu.BDF]():         {Type: "string", Pattern: "^[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\\.[0-7]$"},
		reflect.TypeFor[topology.Kind]():   {Type: "string"},
		reflect.TypeFor[key.Component]():   {Type: "string"},
		reflect.TypeFor[json.RawMessage](): {}, // anything
	}
	s, err := jsonschema.ForType(reflect.TypeOf(value), &jsonschema.ForOptions{TypeSchemas: words})
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	if reflect.TypeOf(value).Kind() == reflect.Slice {
		s = &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"items": s}, Required: []string{"items"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
	}
	if other, ok := s.Properties["kind"]; ok && s.Properties["apiVersion"] == nil {
		s.Properties["cdiKind"] = other // a CDI spec's
		s.Required = append(slices.DeleteFunc(s.Required, func(name string) bool { return name == "kind" }), "cdiKind")
	}
	var version, name any = gpu.APIVersion, kind
	s.Properties["apiVersion"], s.Properties["kind"] = &jsonschema.Schema{Const: &version}, &jsonschema.Schema{Const: &name}
	s.Required = append(s.Required, "apiVersion", "kind")
	slices.Sort(s.Required)
	s.Required = slices.Compact(s.Required)
	s.PropertyOrder = nil
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", kind
	return s
}

// additive returns a schema that allows fields that later versions add. Lists are never
// null.
func additive(t *testing.T, s *jsonschema.Schema) []byte {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	var clean func(any)
	clean = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				clean(e)
			}
		case map[string]any:
			if v["additionalProperties"] == false {
				delete(v, "additionalProperties")
			}
			if types, ok := v["type"].([]any); ok {
				types = slices.DeleteFunc(types, func(word any) bool { return word == "null" })
				if v["type"] = types; len(types) == 1 {
					v["type"] = types[0]
				}
			}
			for _, e := range v {
				clean(e)
			}
		}
	}
	clean(tree)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(tree); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// strict returns a schema that refuses fields that it does not name.
func strict(t *testing.T, text []byte) *jsonschema.Resolved {
	t.Helper()
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	var close func(any)
	close = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				close(e)
			}
		case map[string]any:
			if _, object := v["properties"]; object && v["additionalProperties"] == nil {
				v["additionalProperties"] = false
			}
			for _, e := range v {
				close(e)
			}
		}
	}
	close(tree)
	closed, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(closed, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// asDocument returns the document in an output. A value without apiVersion gets it, and its
// kind; a list becomes the items.
func asDocument(t *testing.T, kind, out string) map[string]any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(out), &value); err != nil {
		t.Fatalf("%s: %v in\n%s", kind, err, out)
	}
	if list, ok := value.([]any); ok {
		value = map[string]any{"items": list}
	}
	doc, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("%s: no object:\n%s", kind, out)
	}
	if doc["apiVersion"] == nil {
		if other, ok := doc["kind"]; ok {
			doc["cdiKind"] = other
		}
		doc["apiVersion"], doc["kind"] = gpu.APIVersion, kind
	}
	return doc
}

const schemaDir = "../../docs/schemas"

// TestSchemas holds docs/schemas against the types of the documents, and what every command
// prints with -o json against the schemas, without fields that they do not name.
func TestSchemas(t *testing.T) {
	pages := map[string]string{}
	for _, page := range []string{"../../docs/node.md", "../../docs/zh/node.md"} {
		text := testfile.Read(t, page)
		pages[page] = string(text)
	}
	schemas, err := filepath.Abs(schemaDir)
	if err != nil {
		t.Fatal(err)
	}
	self := t.TempDir()
	root, cut := filepath.Join(self, "node"), filepath.Join(self, "cut")
	for node, dir := range map[string]string{"c500-8": root, "c500-8-sgpu": cut} {
		if code, _, said := ctk(t, deps{}, "sim", "create", node, dir); code != 0 {
			t.Fatal(said)
		}
	}
	for _, name := range []string{"metax-runtime", "metax-hook", "dockerd"} {
		testfile.Write(t, filepath.Join(root, "usr/bin", name), "", 0o755)
	}
	other := filepath.Join(self, "other.json")
	if code, _, said := ctk(t, deps{}, "--node", "c500-8-pcie", "cdi", "generate", "--output", other); code != 0 {
		t.Fatal(said)
	}
	if code, _, said := ctk(t, deps{Run: child.Tool}, "--root", root, "cdi", "generate"); code != 0 {
		t.Fatal(said)
	}
	t.Chdir(self)
	kinds := documentKinds()
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		file := filepath.Join(schemas, kind+".json")
		text := additive(t, schemaOf(t, kind, kinds[kind].value))
		if *golden.Update {
			testfile.Write(t, file, text, 0o644)
		}
		have, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(have, text) {
			t.Errorf("docs/schemas/%s.json is out of date (%v): go test ./cmd/metax-ctk -run TestSchemas -update", kind, err)
		}
		for page, words := range pages {
			if !strings.Contains(words, "schemas/"+kind+".json)") {
				t.Errorf("%s has no link to the schema of %s", page, kind)
			}
		}
		resolved := strict(t, text)
		for _, line := range kinds[kind].lines {
			args := []string{"--root", root}
			for _, word := range strings.Fields(line) {
				switch word {
				case "CUT":
					word = cut
				case "OTHER":
					word = other
				case "SLICE":
					word = someSlice(t, cut)
				}
				args = append(args, word)
			}
			code, out, said := ctk(t, deps{Run: child.Tool}, append(args, "-o", "json")...)
			if code == exitUsage || code == exitFailed {
				t.Errorf("%s: exit code %d: %s", line, code, said)
				continue
			}
			doc := asDocument(t, kind, out)
			if err := resolved.Validate(doc); err != nil {
				t.Errorf("%s is not a %s: %v\n%.1500s", line, kind, err, out)
			}
			if doc["new"] = true; resolved.Validate(doc) == nil {
				t.Errorf("%s: a member that the schema does not name is not found", kind)
			}
		}
	}
	files, err := os.ReadDir(schemas)
	if err != nil || len(files) != len(kinds) {
		t.Errorf("%d schemas of %d kinds: %v", len(files), len(kinds), err)
	}
}

// someSlice returns the UUID of a slice of a host tree.
func someSlice(t *testing.T, root string) string {
	t.Helper()
	_, out, said := ctk(t, deps{Run: child.Tool}, "--root", root, "device", "list", "-o", "json")
	node, err := gpu.DecodeNode([]byte(out))
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, g := range node.GPUs {
		if len(g.Slices) > 0 && g.Slices[0].UUID != "" {
			return g.Slices[0].UUID
		}
	}
	t.Fatal("no slice")
	return ""
}
