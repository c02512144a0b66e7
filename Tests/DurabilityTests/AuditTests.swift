import Foundation
import Testing

/// Tests of the audit itself: the violations that it has to find.
@Suite(.timeLimit(.minutes(60))) struct AuditTests {
    private typealias Held = Ledger.Held

    private func records(_ text: String) throws -> [AnsweredRecord] {
        try RecordsAnswer(Array(#"{"records":\#(text)}"#.utf8)).records
    }

    private func page(_ text: String) throws -> ZoneChangesAnswer {
        try ZoneChangesAnswer(Array(#"{"zones":[\#(text)]}"#.utf8))
    }

    /// Returns a ledger with two acknowledged saves.
    private func ledger() throws -> Ledger {
        var ledger = Ledger()
        ledger.begin([.init(name: "a", mark: 1), .init(name: "b", mark: 2)])
        let answer = try records(
            #"[{"recordName":"a","recordChangeTag":"t1"},{"recordName":"b","recordChangeTag":"t2"}]"#)
        #expect(ledger.acknowledge(answer).isEmpty)
        return ledger
    }

    private let intact: [String: Ledger.Held] = [
        "a": .present(mark: 1, tag: "t1"), "b": .present(mark: 2, tag: "t2"),
    ]

    @Test func `records as acknowledged pass`() throws {
        var ledger = try ledger()
        #expect(ledger.reconcile(with: intact).isEmpty)
    }

    @Test(arguments: [nil, Ledger.Held.absent, .present(mark: 1, tag: "t0"), .present(mark: 0, tag: "t1")])
    func `a lost, older or changed save is found`(now: Ledger.Held?) throws {
        var ledger = try ledger()
        var found = intact
        found["a"] = now
        #expect(ledger.reconcile(with: found).count == 1)
    }

    @Test func `an unanswered batch may have taken effect or not, but not partially`() throws {
        var ledger = try ledger()
        let batch: [Ledger.Item] = [.init(name: "a", mark: 3), .init(name: "b", mark: nil), .init(name: "c", mark: 4)]
        let after: [String: Ledger.Held] = ["a": .present(mark: 3, tag: "t3"), "c": .present(mark: 4, tag: "t4")]
        ledger.begin(batch)
        #expect(ledger.reconcile(with: intact).isEmpty)
        #expect(ledger.held == intact)
        ledger.begin(batch)
        var half = after
        half["b"] = intact["b"]
        var other = ledger
        #expect(other.reconcile(with: half).count == 1)
        #expect(ledger.reconcile(with: after).isEmpty)
        #expect(ledger.held == after)
    }

    @Test func `refusals and answers to something else are found`() throws {
        var ledger = try ledger()
        ledger.begin([.init(name: "a", mark: 5)])
        #expect(try ledger.acknowledge(records(#"[{"recordName":"x","recordChangeTag":"t"}]"#)).count == 1)
        ledger.begin([.init(name: "a", mark: 5)])
        #expect(try ledger.acknowledge(records(#"[{"recordName":"a","serverErrorCode":"CONFLICT"}]"#)).count == 1)
        ledger.begin([.init(name: "a", mark: 5)])
        #expect(try ledger.acknowledge(records("[]")).count == 1)
    }

    @Test func `a feed that repeats unchanged records is detected`() throws {
        var bookmark = Follower.Bookmark(token: "1", copy: ["a": "t1"])
        let changed = #"{"recordName":"a","recordChangeTag":"t2"}"#
        #expect(try bookmark.apply(page(#"{"records":[\#(changed)],"syncToken":"2"}"#)).isEmpty)
        #expect(try bookmark.apply(page(#"{"records":[\#(changed)],"syncToken":"3"}"#)).count == 1)
        #expect(try bookmark.apply(page(#"{"records":[{"recordName":"a","deleted":true}],"syncToken":"4"}"#)).isEmpty)
        #expect(bookmark.copy.isEmpty)
        #expect(try bookmark.apply(page(#"{"serverErrorCode":"BAD_REQUEST"}"#)).count == 1)
    }
}
