// Prints the Applications that Argo CD makes of an ApplicationSet, by its own generators and templates, as JSON.
//
//	applicationset FILE REPOSITORY [KUBECONFIG]
//
// Its git generator reads the commit that is checked out in REPOSITORY, as Argo CD's repository server does (git ls-files).
// With a kubeconfig the generator clusterDecisionResource works, too, in the namespace of the ApplicationSet.
package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	log "github.com/sirupsen/logrus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// repository is a clone, in place of Argo CD's repository server.
type repository string

func (folder repository) GetFiles(_ context.Context, _, _, _, pattern string, _, _ bool) (map[string][]byte, error) {
	listed, err := exec.Command("git", "-C", string(folder), "ls-files", "--full-name", "-z", "--", pattern).Output()
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	for _, name := range strings.FieldsFunc(string(listed), func(char rune) bool { return char == 0 }) {
		if found[name], err = os.ReadFile(filepath.Join(string(folder), name)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (folder repository) GetDirectories(context.Context, string, string, string, bool, bool) ([]string, error) {
	listed, err := exec.Command("git", "-C", string(folder), "ls-tree", "-r", "-d", "--name-only", "HEAD").Output()
	return strings.Fields(string(listed)), err
}

// projects is an API server with AppProjects that require no signatures.
type projects struct{ client.Client }

func (projects) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error { return nil }

func main() {
	log.SetOutput(io.Discard)
	body, err := os.ReadFile(os.Args[1])
	check(err)
	var set v1alpha1.ApplicationSet
	check(yaml.UnmarshalStrict(body, &set))
	git := generators.NewGitGenerator(repository(os.Args[2]), set.Namespace)
	known := map[string]generators.Generator{"List": generators.NewListGenerator(), "Git": git}
	if len(os.Args) > 3 {
		config, err := clientcmd.BuildConfigFromFlags("", os.Args[3])
		check(err)
		known["ClusterDecisionResource"] = generators.NewDuckTypeGenerator(context.Background(),
			dynamic.NewForConfigOrDie(config), kubernetes.NewForConfigOrDie(config), set.Namespace)
	}
	nested := map[string]generators.Generator{"Matrix": generators.NewMatrixGenerator(known)}
	for name, one := range known {
		nested[name] = one
	}
	made, _, err := template.GenerateApplications(log.NewEntry(log.StandardLogger()), set, nested, &utils.Render{}, projects{})
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(made))
}

func check(err error) {
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
}
