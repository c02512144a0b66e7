import CloudKitDevice
import CloudKitEncryption
import Foundation
import Testing

@testable import CloudKitClient
@testable import ScriptedCloud

@Suite(.timeLimit(.minutes(20))) struct RecordVersionsTests {
    private let zone = SampleKeys.zone().salt
    private let other = SampleKeys.zone("Y").salt

    private func version(_ number: UInt64, tag: UInt32 = 5, holdsValues: Bool = true) -> StatedVersion {
        StatedVersion(number: number, tag: tag, holdsValues: holdsValues)
    }

    private func see(
        _ versions: RecordVersions, _ name: String, _ version: StatedVersion?, since mark: RecordVersions.Mark? = nil
    ) -> EncryptionError? {
        versions.see([(name, version)], in: zone, since: mark ?? versions.mark).failures[name]
    }

    private func folder() -> String { NSTemporaryDirectory() + "versions-\(UUID().uuidString)" }

    @Test func `B-TM-13 an answer is compared with what was known before its request`() {
        let versions = RecordVersions(folder: nil)
        let before = versions.mark
        #expect(see(versions, "r", version(7)) == nil)
        // The answer of a request that was sent before.
        #expect(see(versions, "r", version(6), since: before) == nil)
        #expect(see(versions, "r", nil, since: before) == nil)
        #expect(see(versions, "r", version(6)) == .wentBack(.olderVersion))
        #expect(see(versions, "r", version(7, tag: 6)) == .wentBack(.otherBranch))
        #expect(see(versions, "r", nil) == .notAsStated(.noStatement))
        #expect(see(versions, "r", version(8)) == nil && see(versions, "q", version(1)) == nil)
        #expect(versions.see([("r", version(1))], in: other, since: versions.mark).failures.isEmpty)
    }

    @Test func `B-TM-13 a record without sealed values may lose its statement when keys are reset`() {
        let versions = RecordVersions(folder: nil)
        #expect(see(versions, "r", version(7, holdsValues: false)) == nil)
        #expect(see(versions, "r", nil) == nil)
    }

    @Test func `B-TM-13 a deleted record begins again, above the versions that it had`() {
        let versions = RecordVersions(folder: nil)
        _ = see(versions, "r", version(7))
        versions.forget(["r", "never"], in: zone, since: versions.mark)
        #expect(versions.highest(of: ["r", "never"], in: zone, since: versions.mark) == 7)
        #expect(versions.known(of: ["r", "never"], in: zone, since: versions.mark) == ["r"])
        #expect(see(versions, "r", nil) == nil && see(versions, "r", version(2)) == nil)
        #expect(see(versions, "r", version(1)) == .wentBack(.olderVersion))
    }

    @Test func `B-TM-14 the deletion of a version is stated only if the version was known before the request`() {
        let versions = RecordVersions(folder: nil)
        #expect(see(versions, "r", version(5)) == nil)
        let mark = versions.mark
        // Another request created the record again; the deletion in this answer may be that of its predecessor.
        #expect(see(versions, "r", version(6)) == nil)
        #expect(versions.forget(["r"], in: zone, since: mark).isEmpty)
        #expect(see(versions, "r", version(6)) == nil)
        #expect(versions.forget(["r"], in: zone, since: versions.mark).map(\.version) == [6])
    }

    @Test func `B-TM-14 a version of a zone that was made again is not expected in the new one`() {
        let versions = RecordVersions(folder: nil)
        #expect(see(versions, "r", version(5)) == nil)
        let hash = zone.recordHash("r")
        func change(_ number: UInt64, isDeletion: Bool) -> StatedChange {
            StatedChange(record: hash, version: number, tag: 5, isDeletion: isDeletion, created: 0)
        }
        #expect(versions.disagreeing(with: [change(5, isDeletion: true)], in: zone).count == 1)
        versions.noteNewZone(zone, since: versions.mark)
        #expect(versions.disagreeing(with: [change(5, isDeletion: true)], in: zone).isEmpty)
        #expect(versions.disagreeing(with: [change(4, isDeletion: false)], in: zone).count == 1)
    }

    @Test(arguments: [false, true])
    func `B-TM-13 of a large zone the newest versions are remembered`(areSame: Bool) {
        let versions = RecordVersions(folder: nil)
        let count = 2 * RecordVersions.recordsMax
        for start in stride(from: 0, to: count, by: 4096) {
            let page = (start..<start + 4096).map { (name: "r\($0)", version: version(areSame ? 9 : UInt64($0 + 9))) }
            #expect(versions.see(page, in: zone, since: versions.mark).failures.isEmpty)
        }
        let mark = versions.mark
        let names = (0..<count).map { "r\($0)" }
        let known = versions.known(of: names, in: zone, since: mark)
        #expect(known.count >= RecordVersions.recordsMax && known.count < count)
        if areSame { return }
        #expect(names.suffix(RecordVersions.recordsMax).allSatisfy(known.contains))
        #expect(see(versions, "r\(count - 1)", version(8)) == .wentBack(.olderVersion))
        // Of the oldest one nothing is known any more.
        #expect(see(versions, "r0", version(8)) == nil)
    }

    @Test func `B-TM-13 versions are remembered after a restart, and shared by processes of a profile`() throws {
        let folder = folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try PrivateFile.makeFolder(folder)
        let first = RecordVersions(folder: folder)
        let second = RecordVersions(folder: folder)
        let all = (0..<300).map { ("r\($0)", Optional(version(UInt64($0) + 10, tag: UInt32($0)))) }
        #expect(first.see(all, in: zone, since: first.mark).failures.isEmpty)
        #expect(see(second, "r5", version(16)) == nil)
        // Half an entry, as a crash leaves it.
        let file = folder + "/record-versions/" + zone.file
        try PrivateFile.append([1, 2, 3], to: file)
        #expect(see(first, "r6", version(17)) == nil)
        second.forget(["r7"], in: zone, since: second.mark)
        let size = try #require(FileStamp(path: file)?.size)
        #expect(size % 16 == 0 && size <= 302 * 16)
        let third = RecordVersions(folder: folder)
        _ = third.highest(of: ["r0"], in: zone, since: third.mark)
        #expect(third.highest(of: (0..<300).map { "r\($0)" }, in: zone, since: third.mark) == 309)
        for (name, number) in [("r5", UInt64(15)), ("r6", 16), ("r8", 17)] {
            #expect(see(third, name, version(number, tag: 1)) == .wentBack(.olderVersion))
        }
        #expect(see(third, "r7", version(3)) == nil)
        #expect(see(third, "r9", version(19, tag: 9)) == nil)
    }

    @Test func `B-TM-13 a record of a zone that was made again is not said to be deleted in the new one`() throws {
        let folder = folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try PrivateFile.makeFolder(folder)
        let first = RecordVersions(folder: folder)
        let second = RecordVersions(folder: folder)
        for name in ["old", "older"] { #expect(see(first, name, version(5)) == nil) }
        #expect(see(second, "old", version(5)) == nil)
        let mark = first.mark
        #expect(see(first, "new", version(6)) == nil)
        first.noteNewZone(zone, since: mark)
        #expect(first.forget(["old"], in: zone, since: first.mark).isEmpty)
        #expect(first.forget(["new"], in: zone, since: first.mark).map(\.version) == [6])
        // Another process, and one that begins later, do not know what was fetched with the first page of the new zone.
        #expect(see(first, "newest", version(7)) == nil)
        for versions in [second, RecordVersions(folder: folder)] {
            #expect(versions.forget(["older"], in: zone, since: versions.mark).isEmpty)
            #expect(see(versions, "older", version(4)) == nil)
        }
        #expect(second.forget(["newest"], in: zone, since: second.mark).map(\.version) == [7])
        // A version of the earlier zone is still refused.
        #expect(see(first, "again", version(9)) == nil)
        first.noteNewZone(zone, since: first.mark)
        #expect(see(first, "again", version(8)) == .wentBack(.olderVersion))
        // What is written anew keeps the order.
        let file = folder + "/record-versions/" + zone.file
        #expect(see(first, "present", version(3)) == nil)
        try PrivateFile.append([1, 2, 3], to: file)
        #expect(see(first, "last", version(4)) == nil)
        let third = RecordVersions(folder: folder)
        #expect(third.forget(["again"], in: zone, since: third.mark).isEmpty)
        #expect(third.forget(["present", "last"], in: zone, since: third.mark).count == 2)
    }

    @Test func `B-TM-15 versions from before a claimed restoration are lost ones, until the user accepts the cloud's`()
    {
        let versions = RecordVersions(folder: nil)
        let all: [(name: String, version: StatedVersion?)] = [
            ("r", version(1_000)), ("s", version(1_000)), ("later", version(900_000)), ("gone", version(1_000)),
        ]
        _ = versions.see(all, in: zone, since: versions.mark)
        versions.forget(["gone"], in: zone, since: versions.mark)
        var claim = CloudRestorations.Claim(restoredTo: 500, noticed: 2_000)
        let older: [(name: String, version: StatedVersion?)] = [
            ("r", version(999)), ("s", nil), ("later", version(899_999)), ("gone", version(1_000)),
        ]
        let lost = versions.see(older, in: zone, since: versions.mark, claimed: .init([claim]))
        #expect(lost.lost == ["r", "s"] && lost.returned == ["gone"])
        #expect(
            lost.failures == [
                "r": .wentBack(.olderVersion), "s": .notAsStated(.noStatement), "later": .wentBack(.olderVersion),
            ])
        claim.accepted = 3_000
        let accepted = versions.see(older, in: zone, since: versions.mark, claimed: .init([claim]))
        #expect(accepted.lost.isEmpty && Array(accepted.failures.keys) == ["later"])
        // What was saved over it is seen as ever.
        #expect(see(versions, "r", version(800_000)) == nil)
        let again = versions.see([("r", version(999))], in: zone, since: versions.mark, claimed: .init([claim]))
        #expect(again.failures["r"] == .wentBack(.olderVersion) && again.lost.isEmpty)
    }
}
