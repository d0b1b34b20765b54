package lint

import (
	"go/ast"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"lockstep/node/config"
)

// TestEverySettingIsRead: some code reads each directive that the table calls honoured. A directive
// that no code reads would be a broken promise.
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

// fieldsRead returns the names that are selected from anything in the files that import the
// configuration, and the number of such files. The names of settings are used for nothing else, so
// a name is enough. In the table itself, a field counts as read if another default is derived from
// it, but not if a row only takes its address.
func fieldsRead(all []*source) (read map[string]bool, users int) {
	read = map[string]bool{}
	for _, s := range all {
		_, uses := s.imports()[module+"/node/config"]
		_, member := s.imports()[module+"/node/member"] // a member has the settings
		uses = uses || member
		isTable := strings.HasPrefix(s.path, "node/config/table_")
		if s.isTest() || !uses && !isTable {
			continue
		}
		if uses {
			users++
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if filled, ok := n.(*ast.UnaryExpr); ok && filled.Op == token.AND {
				return !isTable
			}
			if sel, ok := n.(*ast.SelectorExpr); ok {
				read[sel.Sel.Name] = true
			}
			return true
		})
	}
	return read, users
}

func TestSettingsRuleFindsPlantedOffences(t *testing.T) {
	read, users := fieldsRead([]*source{
		planted(t, "node/config/table_x.go", "package config\nfunc f(s *Settings) *int { g(s.Derived); return &s.Filled }"),
		planted(t, "node/config/conflicts.go", "package config\nfunc f(s *Settings) { g(s.Compared) }"),
		planted(t, "node/a.go", "package node\nimport \"lockstep/node/config\"\nfunc f(s *config.Settings) { g(s.Used) }"),
		planted(t, "node/b.go", "package node\nfunc f(s T) { g(s.Other) }"),
		planted(t, "node/c.go", "package node\nimport \"lockstep/node/member\"\nfunc f(m *member.Member) { g(m.Config.Current().Member) }"),
	})
	if users != 2 || !read["Derived"] || !read["Used"] || !read["Member"] || read["Filled"] || read["Compared"] || read["Other"] {
		t.Errorf("read %v by %d files", read, users)
	}
}
