// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// A newer program of the same apiVersion may add fields, and never changes the meaning of
// one. A program that writes the file must not drop fields that it does not know: carry
// puts them back.

// parseJSONTree parses JSON, and keeps numbers as they are written.
func parseJSONTree(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var t any
	err := dec.Decode(&t)
	return t, err
}

// carryForeignFields copies into the tree now what is in old but not in known, the part of old
// that the program knows. Elements of arrays are the same if their ids are; the fields of an
// element that was removed are dropped.
func carryForeignFields(old, known, now any) {
	switch now := now.(type) {
	case map[string]any:
		old, _ := old.(map[string]any)
		known, _ := known.(map[string]any)
		ours := maps.Clone(now)
		for key, value := range old {
			_, isKnown := known[key]
			_, isNow := now[key]
			switch {
			case isKnown && isNow:
				carryForeignFields(value, known[key], now[key])
			case !isKnown && !like(key, known) && !like(key, ours):
				now[key] = value
			}
		}
	case []any:
		old, known := byID(old), byID(known)
		for _, element := range now {
			id := idOf(element)
			carryForeignFields(old[id], known[id], element)
		}
	}
}

// like reports whether the JSON decoder takes key for one of those in m.
func like(key string, m map[string]any) bool {
	if _, ok := m[key]; ok {
		return true
	}
	for other := range m {
		if strings.EqualFold(key, other) {
			return true
		}
	}
	return false
}

// byID returns the objects of an array by their ids.
func byID(array any) map[string]any {
	elements, _ := array.([]any)
	m := make(map[string]any, len(elements))
	for _, e := range elements {
		if id := idOf(e); id != "" {
			m[id] = e
		}
	}
	return m
}

func idOf(element any) string {
	object, _ := element.(map[string]any)
	id, _ := object["id"].(string)
	return id
}
