// Package dynamodb is an embedded, strict DynamoDB: an http.Handler that speaks the service's
// JSON protocol and keeps its tables in one file. It refuses what the service refuses, with
// the service's words, so that what passes here passes on AWS; an operation or a request
// member that Sealift does not use is refused with a clear error instead of half done.
//
// # Design
//
// The store is bbolt, a single-writer B+ tree with snapshots for readers. Three decisions
// follow from that choice:
//
//   - One writer at a time decides every race, and a reader sees one committed state: single
//     operations are linearizable and transactions are serializable without locks of our own.
//     The price is one core for writing, which is enough for several thousand changes a second.
//   - The file is written without fsync. A killed process loses nothing that was answered,
//     because the operating system holds every completed write and the page that makes a commit
//     visible is written last; only a crash of the machine itself may lose data, which a local
//     stand-in for a cloud can afford.
//   - A change is decided before anything is written: conditions, updates and all limits are
//     computed from the items read, and only then are items and index entries put. A refused
//     request has therefore written nothing that would need undoing.
//
// Keys are stored as eight bytes of a hash of the partition key, the partition key, and the sort
// key, the latter two in an encoding whose byte order is DynamoDB's order. A Query is then one
// seek and a walk, whatever the size of the table; a Scan comes in an order that nobody can rely
// on, as on AWS; and a Scan segment is a contiguous range of hashes. A global secondary index is
// a second such tree whose entries hold the index key and the table key but no attributes: items
// are fetched from the table, in the same snapshot, and cut down to the projection. So an update
// that changes no index key writes no index, and an index cannot disagree with its table. The
// alternative, copying the projection into every index as AWS does, would make reads of an index
// slightly cheaper and every update dearer. Times to live have a tree in order of time, so that
// the sweep is a seek as well.
//
// Indexes are current at once, tables and indexes are active at once, and transactions never
// conflict with each other; on AWS these take time or may fail.
//
// # Where to start
//
// Engine (engine.go) and its dispatch (protocol.go); storage.go for the trees; change.go for the
// one way in which items change. The value package owns attribute values, the expression package
// the expression languages. Imports those two and bbolt.
package dynamodb
