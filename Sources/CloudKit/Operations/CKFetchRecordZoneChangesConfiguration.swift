import Foundation
import Synchronization

/// The start and content of the fetch of one zone's changes.
///
/// Apps write `CKFetchRecordZoneChangesOperation.ZoneConfiguration`; the class is at top level because a nested one
/// cannot be archived.
public final class CKFetchRecordZoneChangesConfiguration: NSObject, NSCopying, NSSecureCoding, Sendable {
    private struct State {
        var previousServerChangeToken: CKServerChangeToken?
        var resultsLimit = 0
        var desiredKeys: [CKRecord.FieldKey]?
    }

    private let state: Mutex<State>

    /// Creates a configuration that fetches everything from the beginning.
    public override convenience init() { self.init(State()) }

    private init(_ state: State) {
        self.state = Mutex(state)
        super.init()
    }

    /// Creates a configuration.
    public convenience init(
        previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil
    ) {
        self.init(
            State(
                previousServerChangeToken: previousServerChangeToken, resultsLimit: resultsLimit ?? 0,
                desiredKeys: desiredKeys))
    }

    /// nil: from the beginning (B-CHG-02).
    public var previousServerChangeToken: CKServerChangeToken? {
        get { state.withLock { $0.previousServerChangeToken } }
        set { state.withLock { $0.previousServerChangeToken = newValue } }
    }

    /// An upper bound for one page; 0: the server decides (B-CHG-12).
    public var resultsLimit: Int {
        get { state.withLock { $0.resultsLimit } }
        set { state.withLock { $0.resultsLimit = newValue } }
    }

    /// The fields to fetch; nil: all, empty: only the record's metadata (B-REC-08).
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { state.withLock { $0.desiredKeys } }
        set { state.withLock { $0.desiredKeys = newValue } }
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKFetchRecordZoneChangesConfiguration(state.withLock { $0 })
    }

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        var state = State()
        if coder.containsValue(forKey: "PreviousServerChangeToken") {
            state.previousServerChangeToken = coder.decodeObject(
                of: CKServerChangeToken.self, forKey: "PreviousServerChangeToken")
        }
        state.resultsLimit = coder.decodeInteger(forKey: "ResultsLimit")
        if coder.containsValue(forKey: "DesiredKeys") {
            let keys = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "DesiredKeys") as? [String]
            state.desiredKeys = keys
        }
        self.init(state)
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) {
        let state = state.withLock { $0 }
        if let token = state.previousServerChangeToken { coder.encode(token, forKey: "PreviousServerChangeToken") }
        coder.encode(state.resultsLimit, forKey: "ResultsLimit")
        if let keys = state.desiredKeys {
            coder.encode(keys.map { $0 as NSString } as NSArray, forKey: "DesiredKeys")
        }
    }
}
