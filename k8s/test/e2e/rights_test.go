// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// right is what a role of the chart allows a service account, or what an account does. A right
// without a namespace holds in all.
type right struct{ account, verb, resource, namespace string }

func (r right) String() string {
	s := fmt.Sprintf("%s: %s %s", r.account, r.verb, r.resource)
	if r.namespace != "" {
		s += " in namespace " + r.namespace
	}
	return s
}

// rights are those that the chart's roles allow and those that were used, over all tests.
var rights struct {
	sync.Mutex
	allowed, used []right
}

// allowRights records what the roles of a release allow, those for its removal among them.
func (n *node) allowRights(t *testing.T, release string) {
	t.Helper()
	text := n.must(t, "helm", "get", "manifest", release, "-n", namespace) + "\n---\n" + n.must(t, "helm", "get", "hooks", release, "-n", namespace)
	roles := map[string]rbacv1.ClusterRole{}
	var bindings []rbacv1.ClusterRoleBinding
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		var binding rbacv1.ClusterRoleBinding
		if json.Unmarshal(raw, &role) == nil && strings.HasSuffix(role.Kind, "Role") {
			roles[role.Kind+"/"+role.Name] = role
		}
		if json.Unmarshal(raw, &binding) == nil && strings.HasSuffix(binding.Kind, "RoleBinding") {
			bindings = append(bindings, binding)
		}
	}
	rights.Lock()
	defer rights.Unlock()
	for _, binding := range bindings {
		for _, rule := range roles[binding.RoleRef.Kind+"/"+binding.RoleRef.Name].Rules {
			for _, r := range rightsOf(rule) {
				r.account, r.namespace = binding.Subjects[0].Name, binding.Namespace
				if !slices.Contains(rights.allowed, r) {
					rights.allowed = append(rights.allowed, r)
				}
			}
		}
	}
}

func rightsOf(rule rbacv1.PolicyRule) (list []right) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				list = append(list, right{verb: verb, resource: strings.TrimPrefix(group+"/"+resource, "/")})
			}
		}
	}
	return list
}

// useRights records what the chart's accounts did since the last call, and wants the API
// server to have refused nothing. While the chart is removed, its programs may try what their
// roles allowed before.
func (n *node) useRights(t *testing.T, removal bool) {
	t.Helper()
	log, err := os.ReadFile(n.Path(cluster.AuditLog))
	if err != nil {
		t.Error(err)
		return
	}
	end := bytes.LastIndexByte(log, '\n') + 1
	log, n.audited = log[n.audited:end], end
	rights.Lock()
	defer rights.Unlock()
	for line := range bytes.Lines(log) {
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Errorf("read the audit log: %v", err)
			return
		}
		in, account, _ := strings.Cut(strings.TrimPrefix(event.User.Username, "system:serviceaccount:"), ":")
		if in != namespace && in != awareNamespace || event.ObjectRef == nil {
			continue
		}
		o := event.ObjectRef
		r := right{account, event.Verb, strings.Trim(o.APIGroup+"/"+o.Resource+"/"+o.Subresource, "/"), o.Namespace}
		switch {
		case event.ResponseStatus == nil || event.ResponseStatus.Code != 403:
			used := []right{r}
			if event.Verb == "watch" && strings.Contains(event.RequestURI, "sendInitialEvents=true") {
				used = append(used, right{account, "list", r.resource, r.namespace}) // before 1.34, it lists instead
			}
			if event.ResponseStatus != nil && event.ResponseStatus.Code == 201 && event.Verb == "patch" {
				r.verb = "create" // an apply that makes an object needs both
				used = append(used, r)
			}
			for _, r := range used {
				if !slices.Contains(rights.used, r) {
					rights.used = append(rights.used, r)
				}
			}
		case removal && account != "metax-gpu-cleanup":
		case isAllowed(r) && strings.HasSuffix(event.ResponseStatus.Message, " because it is being terminated"):
			// The namespace is deleted.
		case isAllowed(r) && strings.Contains(event.ResponseStatus.Message, " cannot "+r.verb+" resource "):
			// An API server that has just started has not read the roles yet.
		default:
			t.Errorf("the API server refuses %s: %s", r, event.ResponseStatus.Message)
		}
	}
}

// isAllowed reports whether a role of the chart allows what r is. The caller has rights.
func isAllowed(r right) bool {
	return slices.ContainsFunc(rights.allowed, func(allowed right) bool { return allowed.covers(r) })
}

// covers reports whether a right that a role gives allows what was used.
func (r right) covers(used right) bool {
	if r.namespace == "" {
		used.namespace = ""
	}
	return used == r
}

// unusedRights are those that no test needed.
func unusedRights() []right {
	rights.Lock()
	defer rights.Unlock()
	return slices.DeleteFunc(slices.Clone(rights.allowed), func(allowed right) bool {
		return slices.ContainsFunc(rights.used, allowed.covers)
	})
}
