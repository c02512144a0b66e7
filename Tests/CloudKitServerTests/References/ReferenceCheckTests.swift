import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Testing

/// The weighing of references alone, on batches written down as small tables.
@Suite(.timeLimit(.minutes(20))) struct ReferenceCheckTests {
    private func reference(
        _ holder: String, _ kind: BackReference.Kind, _ target: String, field: String? = "f"
    ) -> BackReference {
        BackReference(target: target, kind: kind, holder: holder, field: kind == .parent ? nil : field)
    }

    /// A batch against a store with `stored` references, in which every record named in them exists.
    private func check(
        stored: [BackReference] = [], existing: Set<String> = [], saves: [Int: (String, [BackReference])] = [:],
        deletions: [Int: String] = [:], failed: [Int: String] = [:], atOnce: Bool = true
    ) -> ReferenceCheck.Verdict {
        var check = ReferenceCheck()
        check.stored = Dictionary(grouping: stored, by: \.target)
        check.existing = existing.union(stored.flatMap { [$0.holder, $0.target] })
        check.saves = saves.mapValues { .init(name: $0.0, set: $0.1, after: Set($0.1)) }
        check.deletions = deletions
        check.failed = failed
        check.cascadesAtOnce = atOnce
        return check.verdict()
    }

    @Test func `B-REF-03 a parent must exist or come along`() {
        let child = ("C", [reference("C", .parent, "P")])
        #expect(check(saves: [0: child]).refused[0]?.code == .referenceViolation)
        #expect(check(existing: ["P"], saves: [0: child]).refused.isEmpty)
        #expect(check(saves: [0: child, 1: ("P", [])]).refused.isEmpty)
        #expect(check(saves: [0: ("P", []), 1: child]).refused.isEmpty)
        let validating = ("C", [reference("C", .validate, "P")])
        #expect(check(saves: [0: validating]).refused[0]?.code == .referenceViolation)
        #expect(check(saves: [0: ("C", [reference("C", .deleteSelf, "P")])]).refused.isEmpty)
    }

    @Test func `B-REF-05 a parent cannot go without its children`() {
        let stored = [reference("C", .parent, "P")]
        let refused = check(stored: stored, deletions: [0: "P"]).refused[0]
        #expect(refused?.code == .referenceViolation)
        #expect(refused?.reason == "Record delete would violate validating reference, rejecting update")
        #expect(refused?.remedy?.contains("'parent' of record 'C'") == true)
        #expect(check(stored: stored, deletions: [0: "P", 1: "C"]).refused.isEmpty)
        #expect(check(stored: stored, deletions: [0: "C", 1: "P"]).refused.isEmpty)
    }

    @Test func `B-REF-05 a child that gets another parent blocks no deletion`() {
        let stored = [reference("C", .parent, "P")]
        let moved = ("C", [reference("C", .parent, "Q")])
        #expect(check(stored: stored, existing: ["Q"], saves: [1: moved], deletions: [0: "P"]).refused.isEmpty)
        #expect(check(stored: stored, saves: [1: moved], deletions: [0: "P"]).refused.keys.sorted() == [0, 1])
    }

    @Test func `B-REF-06 a child that also holds deleteSelf goes along`() {
        let stored = [reference("C", .parent, "P"), reference("C", .deleteSelf, "P")]
        let verdict = check(stored: stored, deletions: [0: "P"])
        #expect(verdict.refused.isEmpty)
        #expect(verdict.cascaded == ["C"])
        let later = check(stored: stored, deletions: [0: "P"], atOnce: false)
        #expect(later.refused.isEmpty)
        #expect(later.cascaded.isEmpty)
        #expect(later.deferred == ["P"])
    }

    @Test func `B-REF-07 deleteSelf goes on from holder to holder, and cycles end`() {
        let chain = [
            reference("B", .deleteSelf, "A"), reference("C", .deleteSelf, "B"), reference("A", .deleteSelf, "C"),
        ]
        #expect(check(stored: chain, deletions: [0: "A"]).cascaded == ["B", "C"])
        #expect(check(stored: chain + [reference("K", .parent, "C")], deletions: [0: "A"]).refused[0] != nil)
        let twoTargets = [reference("H", .deleteSelf, "A"), reference("H", .deleteSelf, "B", field: "g")]
        #expect(check(stored: twoTargets, deletions: [0: "B"]).cascaded == ["H"])
    }

    @Test func `B-REF-09 children of a parent that could not be saved fail too, and their children`() {
        let saves = [
            1: ("C", [reference("C", .parent, "P")]), 2: ("G", [reference("G", .parent, "C")]), 3: ("X", []),
        ]
        let verdict = check(existing: ["P"], saves: saves, failed: [0: "P"])
        #expect(verdict.refused.keys.sorted() == [1, 2])
        #expect(verdict.refused.values.allSatisfy { $0.code == .referenceViolation })
    }

    @Test func `B-BAT-09 a batch that contradicts itself is refused where it does`() {
        let stored = [reference("H", .deleteSelf, "T")]
        let verdict = check(stored: stored, saves: [0: ("H", [reference("H", .deleteSelf, "T")])], deletions: [1: "T"])
        #expect(verdict.refused.keys.sorted() == [0])
        let freed = check(stored: stored, saves: [0: ("H", [])], deletions: [1: "T"])
        #expect(freed.refused.isEmpty)
        #expect(freed.cascaded.isEmpty)
    }
}
