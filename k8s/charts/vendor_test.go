// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// vendorOnly are the values of the vendor's chart that this one does not have, by their paths.
func vendorOnly(t *testing.T) map[string]map[string]any {
	t.Helper()
	var list map[string]map[string]any
	if err := yaml.UnmarshalStrict([]byte(readText(t, operator+"/vendor.yaml")), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestVendorValues installs with the vendor's published values: with each of them alone, and
// with all together. The registry alone is refused, and says what to do.
func TestVendorValues(t *testing.T) {
	var published map[string]any
	if err := yaml.UnmarshalStrict([]byte(readText(t, "testdata/vendor-values.yaml")), &published); err != nil {
		t.Fatal(err)
	}
	delete(published, "registry")
	install := func(values map[string]any) (string, error) {
		text, err := yaml.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		r, err := renderChart(t, operator, "1.34.4", string(text))
		if err != nil {
			return "", err
		}
		return r.Info.Notes, nil
	}
	for name, value := range published {
		if _, err := install(map[string]any{name: value}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	notes, err := install(published)
	if err != nil {
		t.Fatal(err)
	}
	_, named, _ := strings.Cut(notes, "Of the vendor's chart, and without effect here: ")
	for path, entry := range vendorOnly(t) {
		value, ok := any(published), true
		words := strings.Split(path, ".")
		for _, word := range words {
			fields, _ := value.(map[string]any)
			if value, ok = fields[word]; !ok {
				break
			}
		}
		if path != "driver.fwEffectPolicy" && (!ok || fmt.Sprint(value) != fmt.Sprint(entry["default"])) { // seen in 0.9.2 only
			t.Errorf("%s is not one of the vendor's values with the default %v", path, entry["default"])
		}
		if has := slices.Contains(strings.Split(strings.TrimSpace(named), ", "), path); has != (value != nil && value != "") {
			t.Errorf("the notes name %s: %t", path, has)
		}
		another := any("another")
		values := map[string]any{}
		for at, i := values, 0; i < len(words); i++ {
			if i == len(words)-1 {
				at[words[i]] = another
			} else {
				next := map[string]any{}
				at[words[i]] = next
				at = next
			}
		}
		if _, err := install(values); err == nil || !strings.Contains(err.Error(), path+": "+fmt.Sprint(entry["reason"])) {
			t.Errorf("%s with another value: %v", path, err)
		}
	}
	if len(slices.Collect(maps.Keys(published))) < 15 {
		t.Error("few values are published")
	}
}
