import CloudKitModel
import CloudKitWire
import Testing

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

let me = UserID("_0123456789abcdef0123456789abcdef")
let other = UserID("_fedcba9876543210fedcba9876543210")
let requestUUID = "2F1C9D3E-0000-4000-8000-000000000001"
let webStyle = WireStyle(surface: .web, caller: me, requestUUID: requestUUID)
let nativeStyle = WireStyle(surface: .native, caller: me, requestUUID: requestUUID)

/// A record with a field of every type, made by `me` in a zone of `me`.
func sampleRecord(_ name: String = "R1", fields: [Field]? = nil) throws -> Record {
    Record(
        id: RecordID(recordName: name, zoneID: ZoneID(zoneName: "Z", owner: me)), recordType: "Note",
        fields: try fields ?? sampleFields(), changeTag: ChangeTag("jx3"),
        created: Stamp(timestamp: 1_700_000_000_000, user: me, deviceID: "2"),
        modified: Stamp(timestamp: 1_700_000_000_001, user: other), parent: "P1", share: "Share-1", shortGUID: "0a1b")
}

func sampleFields() throws -> [Field] {
    try [
        Field(name: "asset", value: .asset(AssetValue(fileChecksum: "AW2c", size: 0, wrappingKey: "k"))),
        Field(name: "bytes", value: .bytes([1, 2, 3])),
        Field(name: "date", value: .timestamp(1_700_000_000_000)),
        Field(name: "double", value: .double(12.340000000000002)),
        Field(name: "doubles", value: .list(.double, [.double(0.1), .double(-2)])),
        Field(name: "int", value: .int64(.max)),
        Field(name: "ints", value: .list(.int64, [.int64(1), .int64(2)])),
        Field(name: "none", value: .list(.string, [])),
        Field(
            name: "place",
            value: .location(LocationValue(latitude: 48.2, longitude: 16.37, timestamp: 1_700_000_000_000))),
        Field(name: "ref", value: .reference(ReferenceValue(recordName: "R0", action: .deleteSelf))),
        Field(name: "secret", type: .bytes, sealed: sealedBytes),
        Field(name: "text", value: .string("a \"b\"\n😀")),
        Field(name: "texts", type: .string.list, sealed: sealedBytes),
    ]
}

/// The form of a sealed value, epoch 0; no key opens it.
let sealedBytes: [UInt8] = [1, 0, 0, 0, 0] + Array(repeating: 7, count: 30)

/// The reason of the failure that `body` throws.
func failure(_ body: () throws -> Void) -> RequestFailure? {
    do {
        try body()
        return nil
    } catch { return error as? RequestFailure }
}
