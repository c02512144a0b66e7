import SeededChance
import Testing

@testable import CloudKit

/// Archives that are damaged, or that hold something else: an error or an object with gaps, never the end of the process.
@Suite(.timeLimit(.minutes(20))) struct DamagedArchiveTests {
    @Test(arguments: ["CKRecord", "CKShare", "CKShareMetadata"])
    func `any byte of an archive of Apple's framework may be damaged`(name: String) throws {
        let forms: [String: AppleForm.Value] = [
            "CKRecord": .record(), "CKShare": .share(), "CKShareMetadata": .metadata(),
        ]
        let whole = try AppleForm.archive(try #require(forms[name]))
        var failures = 0
        try tryDamages(of: whole, seed: 11) { data in
            do {
                switch name {
                case "CKRecord": use(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
                case "CKShare": use(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data))
                default:
                    let metadata = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShareMetadata.self, from: data)
                    use(metadata?.share)
                    use(metadata?.rootRecord)
                    _ = metadata?.ownerIdentity.nameComponents
                }
            } catch {
                failures += 1
            }
        }
        #expect(failures > 100)
    }

    @Test func `an archived record identifier without a name is none`() {
        let zone = CKRecordZone.ID(zoneName: "Z").content
        #expect(CKRecord.ID(CKRecord.ID.Content(recordName: "", zoneID: zone)) == nil)
        #expect(CKRecord.ID(CKRecord.ID.Content(recordName: "r", zoneID: zone))?.recordName == "r")
    }

    @Test func `any byte of an archive of this framework may be damaged`() throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r"))
        record["list"] = [1.5, 2.5]
        record["place"] = CLLocation(latitude: 1, longitude: 2)
        record["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere"))
        record.encryptedValues["e"] = "s"
        let share = CKShare(rootRecord: record)
        share.publicPermission = .readOnly
        let condition = NSPredicate(format: "a == %@ AND b IN %@", "x", [1, 2])
        let subscription = CKQuerySubscription(recordType: "Note", predicate: condition, subscriptionID: "s")
        let objects: [any _ArchivedClass] = [
            record, share, subscription, CKQuery(recordType: "Note", predicate: condition), CKRecordZone(zoneName: "z"),
            CKAsset(fileURL: URL(fileURLWithPath: "/nowhere")), CLLocation(latitude: 1, longitude: 2),
        ]
        for object in objects {
            let whole = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
            try tryDamages(of: whole, seed: 12) { data in
                switch object {
                case is CKRecord: use(try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
                case is CKSubscription:
                    _ = try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKSubscription.self, from: data)?.model()
                case is CKQuery: _ = try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuery.self, from: data)
                case is CKAsset: _ = try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKAsset.self, from: data)
                case is CLLocation: _ = try? NSKeyedUnarchiver.unarchivedObject(ofClass: CLLocation.self, from: data)
                default: _ = try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecordZone.self, from: data)
                }
            }
        }
    }

    /// Calls a function with 400 variants of an archive: single bytes and runs of bytes changed, parts cut out, doubled or left out.
    private func tryDamages(of whole: Data, seed: UInt64, _ body: (Data) throws -> Void) throws {
        var chance = SplitMix64(seed: seed)
        for round in 0..<400 {
            var data = whole
            for _ in 0..<(1 + round % 3) {
                let place = Int.random(in: 8..<data.count, using: &chance)
                switch round % 5 {
                case 0: data[place] ^= UInt8(1) << UInt8.random(in: 0..<8, using: &chance)
                // References and the letters of names are single bytes with small differences.
                case 1: data[place] = data[place] &+ UInt8.random(in: 0...2, using: &chance) &- 1
                case 2: data[place] = data[Int.random(in: 8..<data.count, using: &chance)]
                case 3: data[place] = UInt8.random(in: 0...255, using: &chance)
                default: data.removeSubrange(place..<min(data.count, place + 1 + round % 7))
                }
            }
            try body(data)
        }
    }

    private func use(_ record: CKRecord?) {
        guard let record else { return }
        for key in record.allKeys() { _ = record[key].map { "\($0)" } }
        _ = record.description
        _ = (record as? CKShare)?.participants.map(\.description)
        _ = try? record.saveOperation(checksTag: true, allKeys: true)
        _ = try? record.secrets(allKeys: true)
        _ = record.copy()
    }

    @Test func `an archive of another class is an error`() throws {
        let token = try AppleForm.archive(.changeToken())
        #expect(throws: CocoaError.self) { try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: token) }
        let record = try AppleForm.archive(.record())
        #expect(throws: CocoaError.self) { try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: record) }
        let unknown = try AppleForm.archive(.object(.init("NSObject", members: [:])))
        #expect(throws: CocoaError.self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecordZone.ID.self, from: unknown)
        }
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: Data("text".utf8))
        }
    }

    @Test func `initialisers that cannot fail make the unarchiving fail`() throws {
        for name in ["CloudKit.CKShare", "CloudKit.CKQuery", "CloudKit.CKQuerySubscription"] {
            let data = try AppleForm.archive(.object(.init(name, members: [:])))
            #expect(throws: (any Error).self, "\(name)") {
                switch name {
                case "CloudKit.CKShare": _ = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data)
                case "CloudKit.CKQuery": _ = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuery.self, from: data)
                default: _ = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKSubscription.self, from: data)
                }
            }
        }
    }

    @Test func `objects that contain one another end`() throws {
        // The list's only element is the list.
        let text = """
            <plist version="1.0"><dict><key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key>\
            <integer>100000</integer><key>$top</key><dict><key>root</key>\(reference(1))</dict><key>$objects</key><array>\
            <string>$null</string>\
            <dict><key>$class</key>\(reference(2))<key>RecordType</key>\(reference(3))<key>RecordID</key>\(reference(4))\
            <key>ValueStore</key>\(reference(1))<key>RecordValues</key>\(reference(1))<key>NS.keys</key><array>\(reference(3))\
            </array><key>NS.objects</key><array>\(reference(1))</array><key>ZoneID</key>\(reference(1))\
            <key>RecordName</key>\(reference(3))<key>ZoneName</key>\(reference(3))</dict>\
            <dict><key>$classname</key><string>CKRecord</string></dict><string>T</string>\
            <dict><key>$class</key>\(reference(4))<key>RecordName</key>\(reference(3))<key>ZoneID</key>\(reference(4))</dict>\
            </array></dict></plist>
            """
        let list = try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil)
        let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
        let record = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        #expect(record?.recordType == "T")
    }

    private func reference(_ index: Int) -> String { "<dict><key>CF$UID</key><integer>\(index)</integer></dict>" }

    @Test func `a block with many open brackets is refused, text with brackets is not`() async throws {
        let record = CKRecord(recordType: "Note")
        record["text"] = String(repeating: "[{\\\"", count: 300)
        #expect(try archivedAndBack(record)["text"] as? String == record["text"] as? String)
        let deep = (0..<30).reduce(NSPredicate(format: "a == 1")) { inner, _ in
            NSCompoundPredicate(andPredicateWithSubpredicates: [inner, NSPredicate(format: "b == 2")])
        }
        let query = CKQuery(recordType: "Note", predicate: deep)
        // On a thread of the pool, whose stack is small.
        let readable = try await Task.detached { try archivedAndBack(query).tree == query.tree }.value
        #expect(readable)
    }
}
