package sqldb_test

import (
	"testing"

	"sealift/shared/source/mytest"
	"sealift/shared/source/sourcetest"
)

func TestMySQL(t *testing.T) {
	t.Parallel()
	server := mytest.Start(t)
	t.Run("passes the suite", func(t *testing.T) {
		t.Parallel()
		sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture { return mysqlFixture(server.Schema(t)) })
	})
	for name, run := range map[string]func(t *testing.T, server *mytest.Server){
		"types become kinds or are refused":             mysqlTypes,
		"values that no file can carry are refused":     mysqlOutOfRange,
		"rows of keys that can't be read are named":     mysqlBrokenKeys,
		"timestamps are instants, whatever the zone":    mysqlZones,
		"the table is checked":                          mysqlChecks,
		"texts that collide are never lost":             mysqlCollisions,
		"the tenant is compared bytewise":               mysqlTenants,
		"keys of every type tile":                       mysqlKeyTypes,
		"the session can't write and says who it is":    mysqlSession,
		"a cancel ends the statement at the server":     mysqlCancel,
		"a lock and a lost connection":                  mysqlDisturbances,
		"a connection rests and is woken":               mysqlRests,
		"missing rights are denied":                     mysqlDenied,
		"a right that goes meanwhile is denied":         revokedMeanwhile,
		"views are planned without estimates":           mysqlUnexplained,
		"rights that are needed are named":              mysqlNamedRights,
		"a full server is overload":                     mysqlOverload,
		"views are read and their faults are named":     mysqlViews,
		"rows that grow after a small batch end early":  mysqlGrowing,
		"letters that can't be converted are refused":   mysqlLostLetters,
		"choices and documents are converted whole":     mysqlLostChoices,
		"letters that can't be converted are no key":    mysqlLostKeys,
		"every letter of whole character sets is read":  mysqlWholeCharsets,
		"a time has no unit":                            mysqlUnits,
		"long keys of views are sorted whole":           mysqlLongKeys,
		"text that a view puts together is whole":       concatenated,
		"keys beyond what is sorted by are refused":     mysqlOverlongKeys,
		"types of one form are halved in that form":     mysqlMiddles,
		"groups of long keys stay whole":                mysqlSplitGroups,
		"a long rest hides no error":                    mysqlLongRests,
		"what takes a name is another thing":            mysqlIdentities,
		"rights that come make no other thing":          mysqlRightsMeanwhile,
		"a tenant of one late moment is planned evenly": mysqlSkew,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, server)
		})
	}
}
