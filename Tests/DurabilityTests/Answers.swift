import Foundation

/// The parts of a returned record that the audit checks.
struct AnsweredRecord: Decodable {
    struct Field: Decodable {
        var value: Int?
    }

    struct Fields: Decodable {
        var mark: Field?
        var count: Field?
    }

    var recordName: String
    var recordChangeTag: String?
    var deleted: Bool?
    var serverErrorCode: String?
    var reason: String?
    var fields: Fields?

    var isDeleted: Bool { deleted == true }
}

/// The answer of records/modify and records/lookup.
struct RecordsAnswer: Decodable {
    var records: [AnsweredRecord]

    init(_ body: [UInt8]) throws { self = try JSONDecoder().decode(Self.self, from: Data(body)) }
}

/// The answer of changes/zone for one zone.
struct ZoneChangesAnswer: Decodable {
    var records: [AnsweredRecord]?
    var syncToken: String?
    var moreComing: Bool?
    var serverErrorCode: String?
    var reason: String?

    private struct Envelope: Decodable {
        var zones: [ZoneChangesAnswer]
    }

    init(_ body: [UInt8]) throws {
        guard let zone = try JSONDecoder().decode(Envelope.self, from: Data(body)).zones.first else {
            throw TrialError(reason: "the answer of changes/zone has no zone")
        }
        self = zone
    }
}
