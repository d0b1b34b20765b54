package lint

import (
	"go/ast"
	"reflect"
	"strings"
	"testing"

	"lockstep/node/config"
)

// TestEverySettingIsRead: a directive that the table calls honoured and nobody
// reads is a promise that is not kept.
func TestEverySettingIsRead(t *testing.T) {
	read, users := fieldsRead(goSources(t))
	if users == 0 {
		t.Skip("SKIPPED: nothing imports node/config")
	}
	settings := reflect.TypeFor[config.Settings]()
	for i := range settings.NumField() {
		name := settings.Field(i).Name
		if settings.Field(i).IsExported() && !read[name] && exceptions["setting "+name] == "" {
			t.Errorf("config.Settings.%s is read by nobody: use it, or give its row another policy", name)
		}
	}
}

// fieldsRead lists the names selected from anything in the files that import
// the configuration, and the number of such files. A name is evidence enough:
// the settings' names are their own.
func fieldsRead(all []*source) (read map[string]bool, users int) {
	read = map[string]bool{}
	for _, s := range all {
		if s.isTest() || strings.HasPrefix(s.path, "node/config/") {
			continue
		}
		if _, uses := s.imports()[module+"/node/config"]; !uses {
			continue
		}
		users++
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				read[sel.Sel.Name] = true
			}
			return true
		})
	}
	return read, users
}
