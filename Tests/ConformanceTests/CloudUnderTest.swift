import Foundation

@testable import CloudKitClient

/// The kinds of clouds that the suite runs against.
enum CloudUnderTest: Hashable, Sendable {
    /// A Welkin cloud with all additions to web services.
    case native
    /// A cloud of documented web services alone, with devices that speak nothing else.
    case webServices

    /// The kind for tests that name none: `WELKIN_CLOUD_UNDER_TEST=web-services` chooses the second (`script/web-services-conformance`).
    static let chosen: CloudUnderTest =
        ProcessInfo.processInfo.environment["WELKIN_CLOUD_UNDER_TEST"] == "web-services" ? .webServices : .native

    /// A new protocol state of a device.
    var surface: CloudSurface { self == .native ? .native : .webServices(WebServicesAccess()) }
}
