import CloudKitModel
import CloudKitSchema
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct SaveDecisionTests {
    private let tag = ChangeTag("a")
    private let other = ChangeTag("b")
    private var held: SaveDecision.Held { .init(tag: tag, recordType: "Note") }

    private func decide(
        _ kind: RecordOperation.Kind, tag: ChangeTag? = nil, type: String? = "Note", held: SaveDecision.Held?
    ) -> SaveDecision {
        SaveDecision(kind, tag: tag, recordType: type, held: held)
    }

    @Test func `B-SAV-01 an equal tag updates the fields sent`() {
        #expect(decide(.update, tag: tag, held: held) == .update(replacing: false))
    }

    @Test func `B-SAV-02 a stale tag is refused, and ignored by a forced save`() {
        #expect(decide(.update, tag: other, held: held).refusal == .conflict)
        #expect(decide(.update, tag: other, held: held).reason == "client oplock error updating record")
        #expect(decide(.forceUpdate, tag: other, held: held) == .update(replacing: false))
    }

    @Test func `B-SAV-03 a fresh record over one that exists is refused, and overwrites when forced`() {
        #expect(decide(.create, held: held).refusal == .recordExists)
        #expect(decide(.create, held: held).reason == "record to insert already exists")
        #expect(decide(.forceUpdate, held: held) == .update(replacing: false))
    }

    @Test func `B-SAV-04 a tag on a record that is gone is refused, and created when forced`() {
        #expect(decide(.update, tag: tag, held: nil).refusal == .itemNotFound)
        #expect(decide(.update, tag: tag, held: nil).reason == "recordChangeTag specified, but record not found")
        #expect(decide(.forceUpdate, tag: tag, held: nil) == .create)
    }

    @Test func `B-SAV-05 a fresh record is created`() {
        #expect(decide(.create, held: nil) == .create)
        #expect(decide(.forceUpdate, held: nil) == .create)
    }

    @Test func `B-BAT-12 replacing verbs remove the fields that were not sent`() {
        #expect(decide(.replace, tag: tag, held: held) == .update(replacing: true))
        #expect(decide(.replace, tag: other, held: held).refusal == .conflict)
        #expect(decide(.replace, tag: tag, held: nil).refusal == .itemNotFound)
        #expect(decide(.forceReplace, held: held) == .update(replacing: true))
        #expect(decide(.forceReplace, held: nil) == .create)
        #expect(decide(.forceUpdate, type: nil, held: nil).refusal == .badRequest)
    }

    @Test func `B-REC-10 a name belongs to one type`() {
        #expect(decide(.update, tag: tag, type: "Other", held: held).refusal == .badRequest)
        #expect(decide(.update, tag: tag, type: nil, held: held) == .update(replacing: false))
    }

    @Test func `B-SAV-11 deleting a missing record succeeds, with a tag it does not`() {
        #expect(DeletionDecision(.forceDelete, tag: nil, held: nil) == .alreadyGone)
        #expect(DeletionDecision(.forceDelete, tag: nil, held: tag) == .delete)
        #expect(DeletionDecision(.delete, tag: tag, held: tag) == .delete)
        guard case .refuse(let stale) = DeletionDecision(.delete, tag: other, held: tag),
            case .refuse(let missing) = DeletionDecision(.delete, tag: other, held: nil)
        else {
            Issue.record("not refused")
            return
        }
        #expect(stale.code == .conflict)
        #expect(missing.code == .itemNotFound)
    }

    @Test func `B-DB-06 everyone reads, every user with an account creates, the creator writes`() {
        let ada = UserID("_ada")
        let bob = UserID("_bob")
        func may(_ privilege: Grant.Privilege, _ user: UserID?, _ creator: UserID?) -> Bool {
            PublicAccess.refusal(privilege, grants: Grant.defaults, user: user, creator: creator) == nil
        }
        #expect(may(.read, nil, ada))
        #expect(!may(.create, nil, nil))
        #expect(may(.create, bob, nil))
        #expect(may(.write, ada, ada))
        #expect(!may(.write, bob, ada))
        #expect(!may(.write, nil, ada))
    }

    @Test func `B-DB-07 a type without grants is unusable`() {
        for privilege in Grant.Privilege.allCases {
            let ada = UserID("_ada")
            let refusal = PublicAccess.refusal(privilege, grants: [], user: ada, creator: ada)
            #expect(refusal?.reason == "\(privilege.rawValue) operation not permitted")
            #expect(refusal?.code == .accessDenied)
        }
    }

    @Test func `B-SAV-06 fields that were not sent survive`() {
        func fields(_ pairs: KeyValuePairs<String, String>) -> [Field] {
            pairs.map { Field(name: $0.key, type: .string, json: Array($0.value.utf8)) }
        }
        let held = fields(["a": "1", "c": "1", "e": "1"])
        #expect(
            FieldMerge.merge(held, fields(["b": "2", "c": "2", "f": "2"]), removed: ["e", "x"])
                == fields(["a": "1", "b": "2", "c": "2", "f": "2"]))
        #expect(FieldMerge.merge(held, [], removed: []) == held)
        #expect(FieldMerge.merge([], held, removed: []) == held)
        #expect(FieldMerge.sorted(fields(["b": "1", "a": "1", "b": "2"])) == fields(["a": "1", "b": "2"]))
    }
}

extension SaveDecision {
    fileprivate var failure: RequestFailure? { if case .refuse(let failure) = self { failure } else { nil } }
    fileprivate var refusal: RequestFailure.Code? { failure?.code }
    fileprivate var reason: String? { failure?.reason }
}
