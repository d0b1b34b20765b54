package script

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// FunctionLimits bound the libraries of a shard. They decide what can be loaded,
// so they must be the same on every replica.
type FunctionLimits struct {
	// Libraries and Functions are the most of each, Bytes the greatest length of all sources
	// together, SourceBytes that of one source.
	Libraries, Functions, Bytes, SourceBytes int
}

// Functions are the libraries of functions of a shard. The zero value is empty.
//
// They are part of the replicated state. They change at the places in the log of the txns that
// change them. Such a txn locks the whole shard, so any txn that holds a lock of the shard sees the
// libraries as of its own place. But the locks of a call depend on the flags of its function, which
// must be known before the call has any lock. So changes are announced when their tickets are
// taken, and while a change is open each call locks the whole shard.
type Functions struct {
	mu   sync.RWMutex // guards the fields below
	set  librarySet
	open int
	// changes counts changes.
	changes uint64
	cuts    map[*FunctionsCut]struct{}
	// memory is MemoryBytes.
	memory atomic.Int64
}

// libraryBytes is the memory of a library that is loaded for calls, in addition to sourceCost for
// its source. functionBytes is that of each of its functions.
const (
	libraryBytes  = 32 << 10
	functionBytes = 1 << 10
)

// MemoryBytes is the approximate memory of the libraries.
func (f *Functions) MemoryBytes() int64 { return f.memory.Load() }

// librarySet never changes.
type librarySet struct {
	libraries map[string]*Library
	// functions holds all functions by folded name.
	functions map[string]*Function
	bytes     int
}

// Announce says that a txn, which comes after all others in the log, may change the libraries.
// Settle says that the txn has ended.
func (f *Functions) Announce() {
	f.mu.Lock()
	f.open++
	f.mu.Unlock()
}

// Settle ends a change that was announced.
func (f *Functions) Settle() {
	f.mu.Lock()
	f.open--
	f.mu.Unlock()
}

// Find finds a function, in any case of letters, or returns nil. settled reports that no change is
// open.
func (f *Functions) Find(name string) (fn *Function, settled bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.set.functions[strings.ToLower(name)], f.open == 0
}

// Settled reports whether no change is open.
func (f *Functions) Settled() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.open == 0
}

// Changes is a number above 0 that grows with each change.
func (f *Functions) Changes() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.changes + 1
}

// Count returns the numbers of libraries and functions, and the length of the sources together.
func (f *Functions) Count() (libraries, functions, bytes int) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.set.libraries), len(f.set.functions), f.set.bytes
}

// Libraries lists the libraries by name.
func (f *Functions) Libraries() []*Library {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.set.list()
}

func (s *librarySet) list() []*Library {
	return slices.SortedFunc(maps.Values(s.libraries), func(a, b *Library) int { return strings.Compare(a.Name, b.Name) })
}

// Policy says what to do with a library whose name exists already.
type Policy uint8

const (
	// Append: that is an error.
	Append Policy = iota
	// Replace: the new library replaces the old one.
	Replace
	// Clear: all existing libraries are removed first.
	Clear
)

func newLibrarySet() librarySet {
	return librarySet{libraries: map[string]*Library{}, functions: map[string]*Function{}}
}

// join returns the existing libraries together with others, or says why they cannot be together.
// The others do not conflict with each other.
func (s *librarySet) join(libraries []*Library, p Policy, l *FunctionLimits) (librarySet, error) {
	next := newLibrarySet()
	replaced := map[string]bool{}
	for _, lib := range libraries {
		if s.libraries[lib.Name] != nil && p == Append {
			return next, fmt.Errorf("ERR Library %s already exists", lib.Name)
		}
		replaced[lib.Name] = true
	}
	for _, lib := range s.libraries { // order does not matter: the set is a map again
		if p != Clear && !replaced[lib.Name] {
			next.put(lib)
		}
	}
	for _, lib := range libraries {
		if err := next.add(lib, l); err != nil {
			return next, err
		}
	}
	return next, nil
}

// add adds a library whose name is new.
func (s *librarySet) add(lib *Library, l *FunctionLimits) error {
	for _, f := range lib.Functions {
		if s.functions[f.Folded] != nil {
			return fmt.Errorf("ERR Function %s already exists", f.Name)
		}
	}
	s.put(lib)
	switch {
	case len(s.libraries) > l.Libraries:
		return fmt.Errorf("ERR there are more than %d libraries (function-max-libraries)", l.Libraries)
	case len(s.functions) > l.Functions:
		return fmt.Errorf("ERR there are more than %d functions (function-max-functions)", l.Functions)
	case s.bytes > l.Bytes:
		return fmt.Errorf("ERR the libraries are longer than %d bytes together (function-max-bytes)", l.Bytes)
	}
	return nil
}

func (s *librarySet) put(l *Library) {
	s.libraries[l.Name] = l
	s.bytes += len(l.Source)
	for _, f := range l.Functions {
		s.functions[f.Folded] = f
	}
}

// now is the current set, which never changes itself.
func (f *Functions) now() librarySet {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.set
}

// Pay charges the work of loading a library. It returns an error if the txn may not do that much. A
// nil Pay charges nothing.
type Pay func(work int64) error

// compile compiles a library and charges for it, whether the library can be loaded or not.
func (p Pay) compile(source []byte, l *FunctionLimits) (*Library, error) {
	if p == nil {
		return CompileLibrary(source, l)
	}
	if refusal := p(compileWork(string(source)) + priceInterpreter); refusal != nil {
		return nil, refusal
	}
	lib, err := CompileLibrary(source, l)
	took := int64(loadWork)
	if err == nil {
		took = lib.work + lib.form.work
	}
	if refusal := p(took); refusal != nil {
		return nil, refusal
	}
	return lib, err
}

func errLibraryThere(name string) error { return fmt.Errorf("ERR Library '%s' already exists", name) }

// Load compiles a library and adds it. txnNo is the number of the txn. An error
// is the whole text of the reply, here and below.
func (f *Functions) Load(source []byte, replace bool, l *FunctionLimits, txnNo uint64, pay Pay) (name string, err error) {
	name, _, err = parseLibraryHeader(source)
	if err != nil {
		return "", err
	}
	set := f.now()
	if set.libraries[name] != nil && !replace {
		return "", errLibraryThere(name)
	}
	lib, err := pay.compile(source, l)
	if err != nil {
		return "", err
	}
	next, err := set.join([]*Library{lib}, Replace, l)
	if err != nil {
		return "", err
	}
	f.become(next, txnNo)
	return name, nil
}

// Delete removes a library.
func (f *Functions) Delete(name string, txnNo uint64) error {
	set := f.now()
	if set.libraries[name] == nil {
		return errors.New("ERR Library not found")
	}
	next := newLibrarySet()
	for _, lib := range set.libraries { // order does not matter: the set is a map again
		if lib.Name != name {
			next.put(lib)
		}
	}
	f.become(next, txnNo)
	return nil
}

// Flush removes all libraries.
func (f *Functions) Flush(txnNo uint64) { f.become(librarySet{}, txnNo) }

// Restore compiles libraries and adds them all, or none.
func (f *Functions) Restore(sources [][]byte, p Policy, l *FunctionLimits, txnNo uint64, pay Pay) error {
	libraries, err := compileAll(sources, l, pay)
	if err != nil {
		return err
	}
	set := f.now()
	next, err := set.join(libraries, p, l)
	if err != nil {
		return err
	}
	f.become(next, txnNo)
	return nil
}

// compileAll compiles libraries that do not conflict with each other.
func compileAll(sources [][]byte, l *FunctionLimits, pay Pay) ([]*Library, error) {
	given := newLibrarySet()
	libraries := make([]*Library, 0, len(sources))
	for _, source := range sources {
		name, _, err := parseLibraryHeader(source)
		if err != nil {
			return nil, err
		}
		if given.libraries[name] != nil {
			return nil, errLibraryThere(name)
		}
		lib, err := pay.compile(source, l)
		if err == nil {
			err = given.add(lib, l)
		}
		if err != nil {
			return nil, err
		}
		libraries = append(libraries, lib)
	}
	return libraries, nil
}

// Adopt takes over the libraries of a snapshot. They were within the limits when they were loaded.
func (f *Functions) Adopt(sources [][]byte) error {
	const all = math.MaxInt
	return f.Restore(sources, Clear, &FunctionLimits{all, all, all, all}, 0, nil)
}

// become changes the set. Cuts that were opened before the txn keep the old set.
func (f *Functions) become(next librarySet, txnNo uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for cut := range f.cuts { // order does not matter: each keeps the set for itself
		if !cut.kept && cut.txnNo < txnNo {
			cut.set, cut.kept = f.set, true
		}
	}
	for name, lib := range f.set.libraries { // order does not matter: each is looked at
		if next.libraries[name] != lib {
			lib.gone.Store(true)
		}
	}
	f.set = next
	f.memory.Store(int64(sourceCost*next.bytes + libraryBytes*len(next.libraries) + functionBytes*len(next.functions)))
	f.changes++
}

// FunctionsCut is the libraries after the txn with number txnNo.
type FunctionsCut struct {
	of    *Functions
	txnNo uint64
	set   librarySet
	kept  bool
}

// OpenCut opens a cut after a txn. No later txn may have run.
func (f *Functions) OpenCut(txnNo uint64) *FunctionsCut {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &FunctionsCut{of: f, txnNo: txnNo}
	if f.cuts == nil {
		f.cuts = map[*FunctionsCut]struct{}{}
	}
	f.cuts[c] = struct{}{}
	return c
}

// Libraries lists the cut's libraries by name. All txns up to the cut's must have run.
func (c *FunctionsCut) Libraries() []*Library {
	c.of.mu.RLock()
	defer c.of.mu.RUnlock()
	if c.kept {
		return c.set.list()
	}
	return c.of.set.list()
}

// Close releases the cut.
func (c *FunctionsCut) Close() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.cuts, c)
}
