import CloudKitModel
import CloudKitServer

/// What a device's app remembers of one zone.
struct ZoneCache {
    var token: String?
    var records: [String: Record] = [:]
}

/// A device of somebody: what it knows, and nothing else. As a value, it can be stored and read back as by a process that dies.
struct Device {
    let name: String
    let person: Int
    var caller: Caller
    var keys: DeviceKeys
    /// Of the private and the shared database.
    var databaseTokens: [DatabaseScope: String] = [:]
    var zones: [Place: ZoneCache] = [:]
    /// Zones that the database's feed has named and that were not fetched to the end since.
    var stale: Set<Place> = []
    /// The key epochs of zones in which their trees were looked at last.
    var looks: [Place: UInt32] = [:]
    /// Zones in which somebody takes part who has other keys by now, as one hears from them: the cloud's feeds do not tell.
    var suspect: Set<Place> = []

    /// The records of a zone as this device knows them, shares left out, in the order of their names.
    func records(in place: Place) -> [Record] {
        (zones[place]?.records ?? [:]).values.filter { $0.sharing == nil }.sorted {
            $0.id.recordName < $1.id.recordName
        }
    }

    func shares(in place: Place) -> [Record] {
        (zones[place]?.records ?? [:]).values.filter { $0.sharing != nil }.sorted {
            $0.id.recordName < $1.id.recordName
        }
    }

    func scope(of place: Place) -> DatabaseScope { place.owner == person ? .private : .shared }

    /// A query that was not read to the end.
    var cursor: Cursor?

    mutating func keep(_ record: Record, in place: Place) {
        zones[place, default: ZoneCache()].records[record.id.recordName] = record
    }
}

/// What becomes of one request on its way.
enum Fate: String {
    case arrives, requestLost, answerLost, doubled
}
