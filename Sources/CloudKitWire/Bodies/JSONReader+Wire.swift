import CloudKitModel
import JSONBytes
import TextEncodings

/// The elements of bodies. In all of them null means absent (docs/web-services.md §1.2).
extension JSONReader {
    mutating func stringIfAny() throws(JSONError) -> String? { try readNull() ? nil : try string() }

    mutating func boolIfAny() throws(JSONError) -> Bool? { try readNull() ? nil : try bool() }

    mutating func doubleIfAny() throws(JSONError) -> Double? { try readNull() ? nil : try double() }

    mutating func int64IfAny() throws(JSONError) -> Int64? { try readNull() ? nil : try int64() }

    mutating func intIfAny() throws(JSONError) -> Int? { try int64IfAny().map(Int.init(clamping:)) }

    mutating func stringsIfAny() throws(JSONError) -> [String]? {
        if try readNull() { return nil }
        var result: [String] = []
        try beginArray()
        while try nextElement() { result.append(try string()) }
        return result
    }

    mutating func base64IfAny() throws(JSONError) -> [UInt8]? {
        if try readNull() { return nil }
        let start = offset
        guard let bytes = try text().withBytes({ Base64.decode($0) }) else {
            throw JSONError(.unexpectedKind, offset: start)
        }
        return bytes
    }

    mutating func zoneIDIfAny() throws(JSONError) -> ZoneID? { try readNull() ? nil : try ZoneID(reading: &self) }

    /// A zone as `{"zoneID": {…}}`, or as the bare zone ID.
    mutating func zone() throws(JSONError) -> ZoneID { try scopedZone().id }

    /// Reads a zone with the scope of its keys, which clients that do not know the scope leave out (B-ZN-16).
    mutating func scopedZone() throws(JSONError) -> (id: ZoneID, scope: ZoneEncryptionScope) {
        var result = ZoneID.default
        var scope = ZoneEncryptionScope.perRecord
        var wrapped: ZoneID?
        try beginObject()
        while let key = try nextKey() {
            if try readNull() { continue }
            switch key {
            case "zoneID": wrapped = try ZoneID(reading: &self)
            case "zoneName": result.zoneName = try string()
            case "ownerRecordName", "ownerName": result.owner = UserID(try string())
            case "encryptionScope": scope = try encryptionScope()
            default: try skipValue()
            }
        }
        return (wrapped ?? result, scope)
    }

    mutating func encryptionScope() throws(JSONError) -> ZoneEncryptionScope {
        try word(ZoneEncryptionScope.init(word:))
    }

    /// One word of a closed set; another one is an unexpected input at its place.
    mutating func word<Word>(_ known: (String) -> Word?) throws(JSONError) -> Word {
        let value = try value()
        guard let text = value.text, let word = known(text.string) else {
            throw JSONError(.unexpectedKind, offset: value.offset)
        }
        return word
    }

    /// Reads an array of at most `itemsMax` items; beyond that it counts them and refuses.
    mutating func items<Item>(
        limits: WireLimits, _ read: (inout JSONReader) throws -> Item
    ) throws -> [Item] {
        if try readNull() { return [] }
        var items: [Item] = []
        var count = 0
        try beginArray()
        while try nextElement() {
            count += 1
            if count <= limits.itemsMax { items.append(try read(&self)) } else { try skipValue() }
        }
        guard count <= limits.itemsMax else { throw RequestFailure.tooManyItems(count, max: limits.itemsMax) }
        return items
    }
}
