import CloudKitModel
import Foundation
import Synchronization

/// A search: one record type, a condition, an order (B-QRY-01).
public final class CKQuery: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The type of the records that the query finds.
    public let recordType: CKRecord.RecordType
    /// The predicate's content; predicate objects are not safe to share between threads.
    let tree: PredicateTree
    private let order: Mutex<[SortDescriptorTerm]?>

    /// - Parameters:
    ///   - recordType: An empty one is a bug of the caller and ends the process, where Apple's framework raises.
    ///   - predicate: What CloudKit cannot run is reported when the query runs (B-QRY-17).
    public convenience init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        // Apple's framework raises NSInvalidArgumentException here; Swift on Linux cannot raise.
        precondition(!recordType.isEmpty, "recordType can't be an empty string")
        self.init(recordType: recordType, tree: PredicateTree(predicate), order: nil)
    }

    init(recordType: String, tree: PredicateTree, order: [SortDescriptorTerm]?) {
        self.recordType = recordType
        self.tree = tree
        self.order = Mutex(order)
        super.init()
    }

    /// The condition, created from its content on each access.
    public var predicate: NSPredicate { FormatPredicate(tree) }

    /// Applied in order; without any the order of the results is undefined (B-QRY-12).
    public var sortDescriptors: [NSSortDescriptor]? {
        get { sortTerms?.map(\.descriptor) }
        set {
            let terms = newValue?.map { SortDescriptorTerm($0) }
            order.withLock { $0 = terms }
        }
    }

    var sortTerms: [SortDescriptorTerm]? { order.withLock { $0 } }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKQuery(recordType: recordType, tree: tree, order: sortTerms)
    }

    /// A textual form of the value, for logs and debugging.
    public override var description: String {
        "<CKQuery: \(addressText(of: self)); recordType=\(recordType), predicate=\(tree.text)>"
    }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    private struct Content: Codable {
        var recordType: String
        var predicate: PredicateTree
        var order: [SortDescriptorTerm]?
    }

    /// - Note: An archive without a query in it gives one that is refused when it runs; where unarchiving reports errors, an error.
    public convenience init(coder aDecoder: NSCoder) {
        let content = Archive.decode(Content.self, from: aDecoder)
        if content == nil { Archive.fail(aDecoder) }
        self.init(
            recordType: content?.recordType ?? "?",
            tree: content?.predicate ?? .malformed("the archive does not hold a query"), order: content?.order)
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) {
        Archive.encode(Content(recordType: recordType, predicate: tree, order: sortTerms), into: coder)
    }
}
