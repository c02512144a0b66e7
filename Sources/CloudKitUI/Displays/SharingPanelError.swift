import Foundation

/// The reason why a panel cannot be shown, or has nothing to show.
public enum SharingPanelError: LocalizedError, Hashable, Sendable {
    /// There is neither a desktop with a browser nor a terminal.
    case noDisplay
    /// The desktop could not open the page.
    case pageNotOpened(String)
    /// The page cannot be served on this machine.
    case pageNotServed(String)
    /// Another panel of the same share is open in this app.
    case alreadyPresented
    /// There is no share: the app's preparation handler gave none.
    case nothingToShare
    /// The app's preparation handler ended without calling its completion handler.
    case preparationAbandoned

    /// What happened, and what to do.
    public var errorDescription: String? {
        switch self {
        case .noDisplay:
            "There is neither a desktop nor a terminal to show the sharing panel in. Run the app in a terminal, or on a desktop with xdg-open."
        case .pageNotOpened(let reason):
            "The desktop could not open the sharing panel (\(reason)). Set a default browser, or run the app in a terminal."
        case .pageNotServed(let reason):
            "The sharing panel cannot be served on this machine (\(reason)). Close other programs, and try again."
        case .alreadyPresented:
            "The sharing panel of this share is open already. Close it before you open another one."
        case .nothingToShare:
            "There is nothing to share: the app gave no share and no container."
        case .preparationAbandoned:
            "The app did not prepare the share. Try again, or report this to the app's maker."
        }
    }
}
