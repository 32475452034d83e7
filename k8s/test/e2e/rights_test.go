package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// rights are the verbs of the chart's roles, as "verb group/resource", over all tests: those that the roles
// allow, and those that were used.
var rights struct {
	sync.Mutex
	allowed, used map[string]bool
}

// checkRights wants the API server to have refused the chart's accounts nothing, and records which rights
// they have and use. It is called while the chart is installed, before a test ends.
func (n *node) checkRights(t *testing.T) {
	t.Helper()
	allowed := map[string]bool{}
	roles, err := n.Client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=" + namespace})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range roles.Items {
		for _, rule := range role.Rules {
			maps.Copy(allowed, verbs(rule))
		}
	}
	log, err := os.Open(n.Path(cluster.AuditLog))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	used := map[string]bool{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("read the audit log: %v", err)
		}
		if event.ObjectRef == nil || !strings.HasPrefix(event.User.Username, "system:serviceaccount:"+namespace+":") {
			continue
		}
		right := verb(event.Verb, event.ObjectRef.APIGroup, event.ObjectRef.Resource, event.ObjectRef.Subresource)
		used[right] = true
		if event.ResponseStatus != nil && event.ResponseStatus.Code == 403 {
			t.Errorf("the API server refuses %s to %s: %s", right, event.User.Username, event.ResponseStatus.Message)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	rights.Lock()
	defer rights.Unlock()
	if rights.allowed == nil {
		rights.allowed, rights.used = map[string]bool{}, map[string]bool{}
	}
	maps.Copy(rights.allowed, allowed)
	maps.Copy(rights.used, used)
}

func verbs(rule rbacv1.PolicyRule) map[string]bool {
	list := map[string]bool{}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, name := range rule.Verbs {
				resource, subresource, _ := strings.Cut(resource, "/")
				list[verb(name, group, resource, subresource)] = true
			}
		}
	}
	return list
}

func verb(name, group, resource, subresource string) string {
	if subresource != "" {
		resource += "/" + subresource
	}
	return fmt.Sprintf("%s %s/%s", name, group, resource)
}

// unusedRights are those that no test needed.
func unusedRights() []string {
	rights.Lock()
	defer rights.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(rights.allowed)), func(right string) bool { return rights.used[right] })
}
