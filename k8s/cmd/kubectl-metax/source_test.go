// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
)

// TestRedirect: a pod that the API server asks cannot lead the user's token elsewhere.
func TestRedirect(t *testing.T) {
	led := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { led = true }))
	defer elsewhere.Close()
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Authorization")
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	}))
	defer server.Close()
	client, err := newClient(&rest.Config{Host: server.URL, BearerToken: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Pods("gpus").ProxyGet("http", "a", "8000", "metrics", nil).DoRaw(t.Context())
	if err == nil || asked != "Bearer secret" || led {
		t.Errorf("%v; asked with %q; elsewhere: %t", err, asked, led)
	}
}
