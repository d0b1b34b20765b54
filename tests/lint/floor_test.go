package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// floors are the top-level folders, lowest first. A folder may import the folders below it. tests
// is not one of them.
var floors = []string{"ground", "engine", "fsm", "cluster", "proto", "node", "cmd"}

// floorOf returns the index in floors of a path's top-level folder, or -1 if there is none.
func floorOf(p string) int {
	top, _, _ := strings.Cut(p, "/")
	for i, f := range floors {
		if f == top {
			return i
		}
	}
	return -1
}

// pureFloors are the folders whose results depend only on the log: not on a clock, on random
// numbers or on anything else outside.
var pureFloors = []string{"engine", "fsm"}

// impure are imports that the pure folders may not have, and neither the packages below these.
var impure = []string{
	"time", "math/rand", "crypto/rand", "os", "net", "syscall", "log", "golang.org/x/sys",
	"github.com/hashicorp", "go.etcd.io/bbolt", "github.com/tidwall/redcon",
	module + "/ground/background", module + "/ground/caught", module + "/ground/durable", module + "/ground/ratelog", module + "/ground/secure",
}

func isPure(p string) bool {
	for _, f := range pureFloors {
		if strings.HasPrefix(p, f+"/") {
			return true
		}
	}
	return false
}

func importsGoDown(s *source) []finding {
	var found []finding
	own := floorOf(s.path)
	for imported := range s.imports() {
		inner, ours := strings.CutPrefix(imported, module+"/")
		if !ours {
			continue
		}
		where := finding{where: s.path, subject: s.path + ":" + inner}
		switch {
		case own >= 0 && floorOf(inner) > own:
			where.text = fmt.Sprintf("%s stands above and must not be imported", inner)
		case own >= 0 && floorOf(inner) < 0 && !s.isTest():
			where.text = fmt.Sprintf("%s is on no floor and must not be imported", inner)
		default:
			continue
		}
		found = append(found, where)
	}
	return found
}

func pureFloorsStayPure(s *source) []finding {
	if !isPure(s.path) || s.isTest() {
		return nil
	}
	var found []finding
	for imported := range s.imports() {
		for _, bad := range impure {
			if imported == bad || strings.HasPrefix(imported, bad+"/") {
				found = append(found, finding{s.path, s.path + ":" + imported,
					fmt.Sprintf("imports %s: given a log, this floor is a pure function", imported)})
			}
		}
	}
	return found
}

// homes lists libraries, and folders of this module, that only one folder may import, because a
// node needs none of them. If the folder is "", only tests may import the library.
var homes = map[string]string{
	"github.com/minio":              "cmd/clusterctl/",
	"lockstep/cmd/clusterctl":       "cmd/clusterctl",
	"github.com/johannesboyne":      "",
	"github.com/schollz":            "cmd/clusterctl",
	"github.com/charmbracelet":      "cmd/clusterctl",
	"charm.land":                    "cmd/clusterctl",
	"github.com/HdrHistogram":       "cmd/clusterctl",
	"github.com/anishathalye":       "",
	"github.com/redis/rueidis":      "",
	"github.com/hibiken/asynq":      "",
	"github.com/go-redsync/redsync": "",
}

func librariesStayHome(s *source) []finding {
	if s.isTest() || strings.HasPrefix(s.path, "tests/") {
		return nil
	}
	var found []finding
	for imported := range s.imports() {
		for library, home := range homes { // order does not matter: each finding once
			if (imported == library || strings.HasPrefix(imported, library+"/")) && (home == "" || !strings.HasPrefix(s.path, home)) {
				found = append(found, finding{s.path, s.path + ":" + imported, fmt.Sprintf("imports %s, which is for %q alone", imported, home)})
			}
		}
	}
	return found
}

// roomsFolder holds one package, called a room, for the commands of each kind of value.
const roomsFolder = "engine/commands/"

// roomsBelow lists the rooms that a room may import. All other rooms are independent: code that two
// of them need is in engine/command.
var roomsBelow = map[string][]string{
	"geocmd":  {"zsetcmd"},
	"sortcmd": {"listcmd", "hashcmd"},
	"values":  {"stringcmd", "listcmd", "hashcmd", "setcmd", "zsetcmd", "streamcmd"},
	"keycmd":  {"values"},
	"nodecmd": {"keycmd"},
}

func roomsStandApart(s *source) []finding {
	var found []finding
	rest, inside := strings.CutPrefix(s.path, roomsFolder)
	room, _, isRoom := strings.Cut(rest, "/")
	for imported := range s.imports() {
		other, ours := strings.CutPrefix(imported, module+"/"+roomsFolder)
		switch {
		case s.isTest():
		case strings.HasPrefix(s.path, "engine/command/") && strings.HasPrefix(imported+"/", module+"/"+roomsFolder):
			found = append(found, finding{s.path, s.path + ":" + imported, "imports " + imported + ", which stands on it"})
		case !inside || !isRoom:
		case imported == module+"/"+strings.TrimSuffix(roomsFolder, "/"):
			found = append(found, finding{s.path, s.path + ":" + imported, "imports the table that its own rows stand in"})
		case ours && !slices.Contains(roomsBelow[room], other):
			found = append(found, finding{s.path, s.path + ":" + imported, fmt.Sprintf("room %s imports room %s", room, other)})
		}
	}
	return found
}

func TestRoomsOfCommandsStandApart(t *testing.T) { check(t, roomsStandApart) }

func TestLibrariesStayHome(t *testing.T)                    { check(t, librariesStayHome) }
func TestImportsGoDownTheFloors(t *testing.T)               { check(t, importsGoDown) }
func TestEngineAndMachineAreAFunctionOfTheLog(t *testing.T) { check(t, pureFloorsStayPure) }

func TestFloorRulesFindPlantedOffences(t *testing.T) {
	wantFindings(t, 2, importsGoDown, "engine/x/a.go", `package x; import ("lockstep/fsm"; "lockstep/tests/kit/proc")`)
	wantFindings(t, 1, importsGoDown, "proto/x/a_test.go", `package x; import ("lockstep/node"; "lockstep/tests/kit/proc")`)
	wantFindings(t, 0, importsGoDown, "node/a.go", `package node; import ("lockstep/fsm"; "lockstep/proto/resp"; "lockstep/node/config")`)
	wantFindings(t, 0, importsGoDown, "tests/x/a.go", `package x; import "lockstep/cmd/lockstepd"`)
	wantFindings(t, 2, librariesStayHome, "cmd/lockstepd/a.go", `package main; import ("github.com/minio/minio-go/v7"; "lockstep/cmd/clusterctl/backup")`)
	wantFindings(t, 1, librariesStayHome, "cmd/clusterctl/a.go", `package main; import ("github.com/minio/minio-go/v7"; "github.com/johannesboyne/gofakes3")`)
	wantFindings(t, 0, librariesStayHome, "cmd/clusterctl/backup/a_test.go", `package backup; import "github.com/johannesboyne/gofakes3"`)
	wantFindings(t, 2, roomsStandApart, "engine/commands/listcmd/a.go", `package listcmd; import ("lockstep/engine/command"; "lockstep/engine/commands"; "lockstep/engine/commands/setcmd")`)
	wantFindings(t, 2, roomsStandApart, "engine/command/a.go", `package command; import ("lockstep/engine/commands"; "lockstep/engine/commands/setcmd")`)
	wantFindings(t, 0, roomsStandApart, "engine/commands/geocmd/a.go", `package geocmd; import "lockstep/engine/commands/zsetcmd"`)
	wantFindings(t, 0, roomsStandApart, "engine/commands/a.go", `package commands; import "lockstep/engine/commands/zsetcmd"`)
	wantFindings(t, 4, pureFloorsStayPure, "fsm/a.go", `package fsm; import ("time"; r "math/rand/v2"; "net/http"; "github.com/hashicorp/raft")`)
	wantFindings(t, 0, pureFloorsStayPure, "fsm/a_test.go", `package fsm; import "time"`)
	wantFindings(t, 0, pureFloorsStayPure, "engine/a.go", `package engine; import ("math/bits"; "context"; "sort"; "lockstep/ground/words")`)
	wantFindings(t, 1, pureFloorsStayPure, "engine/a.go", `package engine; import "lockstep/ground/durable"`)
	wantFindings(t, 1, importsGoDown, "ground/x/a.go", `package x; import "lockstep/engine"`)
}
