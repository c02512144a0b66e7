/// The command-line options.
struct BenchOptions {
    var isQuick = false
    var welkin: String?
    /// Another server, which is measured alternately with the first one.
    var against: String?
    var json: String?
    /// The file for the results as a Markdown table.
    var table: String?
    /// The letters of the measurements to run; all of them if empty.
    var only: Set<String> = []
    var rounds: Int?
    /// The records of the measurements m and x, and the records and people of k, instead of a million.
    var records: Int?
    /// The kinds of requests of the measurement c+; all of them if empty.
    var costs: Set<String> = []

    static let usage = """
        usage: welkin-bench [--quick] [--only a,a+,b,c,d,e,e0,e1,e5,s,v,u,p,r,r+,n,n4,w,t,x,i,f,m,h,h+,g,g+,l,c+,k,qa,qe,qo,qc,qp,qn,qh] [--rounds N] [--records N] [--costs save,batchRecord,lookup,changedRecord,emptyPage] [--welkin PATH] [--against PATH] [--json FILE] [--table FILE]

          a  batches of 200 records over HTTP against raw SQLite inserts of the same bytes (at least 0.70)
          a+ the same while the cloud indexes text, number and date (at least 0.45)
          b  lookups of one record against a bare JSON echo of the same web framework (at least 0.90)
          c  reading all changes of a large zone against a small one, per record (at most 1.05)
          d  saving one record in a large zone against an empty one (at most 1.05)
          e  single saves of 64 clients against one client (at least 10)
          e0 a bare Hummingbird echo, 64 clients against one (informative, without bound)
          e1 saves again, on a disk whose syncs take 1 ms more (at least 10; Linux)
          e5 the same with 5 ms more (at least 10; Linux)
          s  sealing an asset against the cipher alone (at least 0.50)
          v  records with encrypted values through the framework against plain ones (at most 1.15)
          u  an asset through device and server against copies of the file with fsync (at least 0.70)
          p  saves in a zone shared with 100 users against saves in an unshared one (at least 0.90)
          n  from a save to another device's notification, 1,000 devices connected (p50 at most 5 ms, p99 50 ms)
          n4 the same with 10,000 devices of as many users while 64 connections save (p99 at most 50 ms)
          r  single saves while 10,000 devices return at once after an outage (at least 0.98)
          r+ single saves beside 256 greedy readers (at least 0.90)
          w  memory of the server while 10,000 devices wait (at most 500 MB)
          x  memory of the server with a million records of a thousand users (at most 60 MB without work, 250 MB with)
          i  size of the proofs of identities in a directory of a million users, and the time to verify one (at most 4,096 bytes, 1 ms)
          t  sharing a tree of 10,000 records through the framework (at most 2 s)
          f  a participant's first fetch of that tree against the owner's (at least 0.70)
          m  a million sealed records onto an empty device (at most 30 s and 150 MB more memory)
          h  saving one record in a zone with 100 participants against one that is not shared (at most 1.05)
          h+ the same while each participant is subscribed to the shared database (informative, without bound)
          g  slowest save of a user against the median while another saves 260,000 words a request (informative, without bound)
          g+ the same while those requests are not atomic (informative, without bound)
          l  processor time of a save with the log of requests against the same without (at most 1.02)
          c+ processor time of saves, lookups, records of a page of changes and empty pages; with --against PATH that of another
             server as well, round by round
          k  processor time of requests against the size of a zone, of a database and of the cloud (at most 1.05)
          qa batches of 200 records on PostgreSQL against pgbench with the same statements (at least 0.60)
          qe single saves of 64 clients in 64 partitions on PostgreSQL against pgbench with the same statements (at least 0.50)
          qo saves of 64 clients in one partition on a slow disk against one sync for each (at least 20)
          qc processor time of the node for a save on PostgreSQL against SQLite (at most 1.30)
          qp saving one record among a million partitions against a thousand (at most 1.10)
          qn processor time of two and three nodes for a request against one (at most 1.05)
          qh from a save at one node to a device's notification at another (p50 at most 5 ms, p99 20 ms)
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst() else { throw BenchError("\(option) needs a value") }
            return value
        }
        while let option = rest.popFirst() {
            switch option {
            case "--quick": isQuick = true
            case "--welkin": welkin = try value(of: option)
            case "--against": against = try value(of: option)
            case "--json": json = try value(of: option)
            case "--table": table = try value(of: option)
            case "--rounds": rounds = Int(try value(of: option))
            case "--records": records = Int(try value(of: option))
            case "--costs": costs = Set(try value(of: option).split(separator: ",").map(String.init))
            case "--only": only = Set(try value(of: option).split(separator: ",").map(String.init))
            default: throw BenchError("unknown option \(option)\n\n\(Self.usage)")
            }
        }
    }
}

/// The error of a measurement that cannot be run or has an unexpected result.
struct BenchError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
