package config

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/command"
)

// TestEveryFieldIsFilledByExactlyOneRow checks that the table and Settings agree.
func TestEveryFieldIsFilledByExactlyOneRow(t *testing.T) {
	var s Settings
	filledBy := map[uintptr]string{}
	for _, d := range table {
		field := reflect.ValueOf(d.kind).FieldByName("field")
		if field.IsNil() != (d.Policy != Honoured) {
			t.Errorf("%s is %v: a row has a field if and only if it is honoured", d.Name, d.Policy)
		}
		if field.IsNil() {
			continue
		}
		place := fieldPlace(d.kind, &s)
		if other := filledBy[place]; other != "" {
			t.Errorf("%s and %s fill the same field", d.Name, other)
		}
		filledBy[place] = d.Name
	}
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.IsExported() && f.Name != "Engine" && filledBy[v.Field(i).Addr().Pointer()] == "" {
			t.Errorf("no row fills Settings.%s", f.Name)
		}
	}
}

// Each limit of the engine is filled by the row of its name, except two that have fields of their
// own.
func TestEveryEngineLimitHasARow(t *testing.T) {
	for _, name := range command.SettingNames() {
		if !command.IsDirective(name) {
			continue
		}
		d := byName[name]
		if d == nil || d.Policy != Honoured {
			t.Errorf("no row for %s", name)
			continue
		}
		if name == "proto-max-bulk-len" || name == "maxmemory-policy" {
			continue
		}
		s := Default().Current().clone()
		value := int64(0)
		var err error
		for _, value = range []int64{77, 777, 2 << 20} { // the first two are too low for some
			if _, err = d.kind.set(s, []string{strconv.FormatInt(value, 10)}); err == nil {
				break
			}
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if *s.Engine.Ref(name) != value {
			t.Errorf("%s fills another field", name)
		}
		want, _ := command.DefaultSettings.Get(name)
		if preset, _ := Default().Current().Value(d); preset != strconv.FormatInt(want, 10) {
			t.Errorf("%s is %s by default, %d in the engine", name, preset, want)
		}
	}
}

// The policies of the table are those of the engine.
func TestPoliciesAreTheEngines(t *testing.T) {
	names := strings.Split(byName["maxmemory-policy"].kind.form(), "|")
	seen := map[command.Policy]bool{}
	for _, name := range names {
		p := command.PolicyNamed(name)
		if p.String() != name || seen[p] {
			t.Errorf("%s is %v in the engine", name, p)
		}
		seen[p] = true
	}
	if len(seen) != int(command.PolicyVolatileTTL)+1 {
		t.Errorf("%d policies", len(seen))
	}
}

// fieldPlace is the address of the field of s that a kind fills.
func fieldPlace(k kind, s *Settings) uintptr {
	switch k := k.(type) {
	case fieldKind[bool]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[int]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[int64]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[string]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[[]string]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[OutputLimits]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[ClientsMemory]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[EventClasses]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[ClientAuth]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[AdminSecurity]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[LogStore]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[ReadMode]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[ChannelsDefault]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[Raise]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[Supervision]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[Routing]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[EndpointType]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[ClientRole]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[DebugAccess]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[EvictionPolicy]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[LogLevel]:
		return reflect.ValueOf(k.field(s)).Pointer()
	case fieldKind[LogFormat]:
		return reflect.ValueOf(k.field(s)).Pointer()
	}
	panic("a kind of field that this test does not know")
}

// TestCanonicalTextReadsBackToItself matters because values pass through the log and through CONFIG
// GET in this form.
func TestCanonicalTextReadsBackToItself(t *testing.T) {
	c := Default()
	for _, d := range table {
		text, _ := c.Current().Value(d)
		again, err := d.kind.set(c.Current().clone(), []string{text})
		if err != nil || again != text {
			t.Errorf("%s: %q reads back as %q, %v", d.Name, text, again, err)
		}
	}
}

func TestEveryRowExplainsItself(t *testing.T) {
	names := regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	env := map[string]string{}
	for _, d := range table {
		for _, name := range d.Names() {
			if !names.MatchString(name) {
				t.Errorf("odd name %q", name)
			}
			if other := env[envName(name)]; other != "" {
				t.Errorf("%s and %s share a variable", name, other)
			}
			env[envName(name)] = name
		}
		switch {
		case d.Policy == Honoured && (d.Doc == "" || !strings.HasSuffix(d.Doc, ".")):
			t.Errorf("%s lacks a sentence of documentation", d.Name)
		case d.Policy != Honoured && d.Why == "":
			t.Errorf("%s is %v without a reason", d.Name, d.Policy)
		case d.derive != nil && d.deriveDoc == "":
			t.Errorf("%s: its derived default has no words", d.Name)
		}
	}
}

func TestHelpNamesEveryHonouredDirective(t *testing.T) {
	help := Help()
	for _, d := range table {
		if shows := strings.Contains(help, "--"+d.Name+" <"); shows != (d.Policy == Honoured) {
			t.Errorf("%s is %v; in --help: %v", d.Name, d.Policy, shows)
		}
	}
	for _, line := range strings.Split(help, "\n") {
		if strings.HasPrefix(line, "        ") && len(line) > 80 {
			t.Errorf("wide line %q", line)
		}
	}
}
