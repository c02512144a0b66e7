import CloudKitModel

/// How an answer is printed, and for whom.
package struct WireStyle: Sendable {
    package enum Surface: Hashable, Sendable {
        /// Documented web services, nothing else.
        case web
        /// Our own SDK (`X-Welkin-Client`): additive keys, and the caller as `__defaultOwner__` (B-ZN-03).
        case native
    }

    package var surface: Surface
    /// Who asks; nil: nobody, or it does not matter.
    package var caller: UserID?
    /// The UUID of the request, for error items and error objects.
    package var requestUUID: String
    /// Whether INT64 and DOUBLE values are printed as strings (docs/web-services.md §4.4).
    package var numbersAsStrings: Bool
    /// The fields to print; nil: all, empty: none.
    package var desiredKeys: [String]?
    /// Where an asset can be downloaded; nil: nowhere.
    package var downloadURL: (@Sendable (AssetValue) -> String?)?

    package init(
        surface: Surface, caller: UserID?, requestUUID: String, numbersAsStrings: Bool = false,
        desiredKeys: [String]? = nil
    ) {
        self.surface = surface
        self.caller = caller
        self.requestUUID = requestUUID
        self.numbersAsStrings = numbersAsStrings
        self.desiredKeys = desiredKeys
    }

    package var isNative: Bool { surface == .native }

    /// How a zone's owner is named. Web services name the public default zone's owner `_defaultOwner`.
    func name(ofOwner owner: UserID) -> String {
        if isNative { return owner.isCaller || owner == caller ? UserID.caller.recordName : owner.recordName }
        return owner == .caller ? (caller ?? owner).recordName : owner.recordName
    }

    /// How a user is named who created or modified something.
    func name(ofUser user: UserID) -> String {
        if isNative { return user == caller ? UserID.caller.recordName : user.recordName }
        return user == .caller ? (caller ?? user).recordName : user.recordName
    }
}
