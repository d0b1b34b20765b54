package script

import "testing"

// A library is loaded anew for a call only if a call could leave something behind. An iterator that
// had ended when the library was loaded does not count.
func TestALibraryIsLoadedForEachCallWhereThatIsNeededAlone(t *testing.T) {
	for body, want := range map[string]bool{
		`local t = {} for name in ('a b'):gmatch('%a') do t[name] = true end redis.register_function('f', function() return t.a end)`: false,
		`local next = ('a b'):gmatch('%a') redis.register_function('f', function() return next() end)`:                                true,
		`local t = {{next = ('a b'):gmatch('%a')}} redis.register_function('f', function() return t[1].next() end)`:                   true,
		`redis.register_function('f', ('a b'):gmatch('%a'))`:                                                                          true,
	} {
		l, err := CompileLibrary([]byte("#!lua name=lib\n"+body), &FunctionLimits{SourceBytes: 1 << 20})
		if err != nil {
			t.Fatalf("%s\n%v", body, err)
		}
		if l.stateful != want {
			t.Errorf("%s\nis loaded for each call: %v", body, l.stateful)
		}
	}
}
