import CloudKitAccounts
import CloudKitModel

extension DeviceCall {
    /// Returns the sender of a request about an account: the device in its body, or a browser that is signed in on a page of the cloud itself.
    ///
    /// A web token of an app's own page is not enough: an app sees the data of its container, not the person's devices and other containers.
    ///
    /// - Parameter store: The accounts of the cloud.
    /// - Throws: `RequestFailure` `badRequest` without a device and a web token; `authenticationRequired` for
    ///   one whose session has ended; `accessDenied` for the web token of an app's page.
    func accountSender(in store: AccountStore) throws -> AccountSender {
        guard try SmallJSON.decode(OptionalDeviceBody.self, from: body).deviceID == nil, hasWebToken else {
            return .device(try SmallJSON.decode(DeviceBody.self, from: body).device)
        }
        guard let sessionID else { throw RequestFailure.userNeeded }
        guard PageTokens(store.serverEnvironment).contains(place.apiToken) else {
            throw RequestFailure(
                .accessDenied, "accounts are for devices and for pages of the cloud",
                remedy: "Send deviceID and deviceSecret, or open the cloud's page /account.")
        }
        return .browser(session: sessionID)
    }

    private struct OptionalDeviceBody: Decodable {
        var deviceID: String?
    }
}
