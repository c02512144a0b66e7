import CloudKitModel
import CloudKitServer

/// A device's copy of one zone.
struct ZoneCache {
    var token: String?
    var records: [String: Record] = [:]
}

/// The state of a device. As a value, it can be stored and restored as by a process that crashes.
struct Device {
    let name: String
    let person: Int
    var caller: Caller
    var keys: DeviceKeys
    /// The change tokens of the private and the shared database.
    var databaseTokens: [DatabaseScope: String] = [:]
    var zones: [Place: ZoneCache] = [:]
    /// The changed zones that are not completely fetched.
    var stale: Set<Place> = []
    /// The key epochs of zones at the last lookup of their trees.
    var looks: [Place: UInt32] = [:]
    /// The zones with participants whose keys were replaced, as reported by the participants; the feeds do not show it.
    var suspect: Set<Place> = []

    /// The records of this device's copy of a zone without shares, ordered by name.
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

    /// An unfinished query.
    var cursor: Cursor?

    mutating func keep(_ record: Record, in place: Place) {
        zones[place, default: ZoneCache()].records[record.id.recordName] = record
    }
}

/// The fate of a request in the network.
enum Fate: String {
    case arrives, requestLost, answerLost, doubled
}
