import CloudKitAccounts
import CloudKitHTTP

/// Decides which pages an operator sees. No other place decides it.
struct PageScope {
    /// The part of the cloud that the operator may see and change.
    var scope: ConsoleOperator.Scope

    /// Returns whether the operator sees a page.
    ///
    /// - Parameter place: The container and environment of the page; nil for a page without.
    func admits(_ page: any ConsolePage, in place: ContainerPath?) -> Bool {
        if let place { return scope.includes(place.container) }
        return scope == .all || page.audience == .everyOperator
    }
}
