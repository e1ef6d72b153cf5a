//! How the processes of a cluster know each other: by a token that all of them share, and by certificates.
//!
//! Ballista connects to servers by itself, and lets others change the endpoint of a connection before
//! (`EndpointOverrideFn` of ballista-core 55.0), but not its requests. So the token travels in the one header that
//! endpoints set, the user agent.

use axum::http::header::USER_AGENT;
use axum::http::{HeaderMap, HeaderValue};
use ballista_core::extension::EndpointOverrideFn;
use ballista_core::utils::{GrpcClientConfig, create_grpc_client_endpoint};
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, ServerTlsConfig};

/// The fewest characters of a token. Nobody guesses so many random ones.
const FEWEST: usize = 16;
/// The most characters of a token: headers have a limit.
const MOST: usize = 1024;
/// What precedes the token in its header.
const PREFIX: &str = "broadloom-sql/";

/// Where a user writes a token, for messages.
const WHERE: &str = "write it into a file and give --token-file FILE, or set BROADLOOM_SQL_TOKEN";

/// What opens the servers of a cluster: a token, certificates, both or nothing. All processes of a cluster have the same.
///
/// ```
/// use broadloom_sql::{Access, Address};
/// let access = Access::default().with_token("6f1c0a9be2d84f57")?;
/// let scheduler: Address = "127.0.0.1:50050".parse()?;
/// let scheduler = scheduler.with_access(access);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Access {
    token: Option<HeaderValue>,
    tls: Option<Arc<Tls>>,
}

/// Certificates in the format PEM.
#[derive(Debug, Clone, Default)]
pub struct Certificates {
    /// Those that signed the certificates of servers, and of clients if access is mutual.
    pub authority: Vec<u8>,
    /// The certificate of this process and its key. Servers need one, and clients if access is mutual.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether servers ask clients for a certificate.
    pub mutual: bool,
}

struct Tls {
    authority: Certificate,
    identity: Option<Identity>,
    mutual: bool,
}

/// Nothing secret is shown.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("token", &self.has_token()).field("tls", &self.has_tls()).finish()
    }
}

impl Access {
    /// Adds a token, without the white space around it.
    ///
    /// # Errors
    /// Returns an error unless it has 16 to 1024 characters, which are printable ASCII without spaces.
    pub fn with_token(self, token: &str) -> Result<Access> {
        let token = token.trim();
        if !(FEWEST..=MOST).contains(&token.len()) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return plan_err!(
                "a token has {FEWEST} to {MOST} characters, which are letters, digits and signs of ASCII: make one by \
                 `openssl rand -hex 32`"
            );
        }
        let mut header = HeaderValue::from_str(&format!("{PREFIX}{token}"))
            .map_err(|_| plan_datafusion_err!("the token cannot be sent"))?;
        header.set_sensitive(true);
        Ok(Access { token: Some(header), ..self })
    }

    /// Adds certificates, and with them encryption.
    ///
    /// # Errors
    /// Returns an error if one is not in the format PEM.
    pub fn with_certificates(self, certificates: Certificates) -> Result<Access> {
        let Certificates { authority, own, mutual } = certificates;
        check_pem(&authority, "CERTIFICATE", "the file of --tls-ca")?;
        if let Some((certificate, key)) = &own {
            check_pem(certificate, "CERTIFICATE", "the file of --tls-cert")?;
            check_pem(key, "PRIVATE KEY", "the file of --tls-key")?;
        }
        let identity = own.map(|(certificate, key)| Identity::from_pem(certificate, key));
        let tls = Tls { authority: Certificate::from_pem(authority), identity, mutual };
        Ok(Access { tls: Some(Arc::new(tls)), ..self })
    }

    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether servers let in only those who have the token, or a certificate.
    pub(crate) fn asks(&self) -> bool {
        self.has_token() || self.tls.as_ref().is_some_and(|tls| tls.mutual)
    }

    /// Returns the endpoint of a server of the cluster.
    pub(crate) fn endpoint(&self, host: &str, port: u16) -> Result<Endpoint, Box<dyn Error + Send + Sync>> {
        let url = format!("{}://{host}:{port}", self.scheme());
        self.guarded(create_grpc_client_endpoint(url, Some(&GrpcClientConfig::default()))?)
    }

    /// Returns what Ballista asks before it connects.
    pub(crate) fn endpoints(&self) -> EndpointOverrideFn {
        let access = self.clone();
        Arc::new(move |endpoint| access.guarded(endpoint))
    }

    /// Returns the scheme of URLs.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.has_tls() { "https" } else { "http" }
    }

    /// Adds the token and the certificates to an endpoint. Where there are certificates, nothing is ever sent without
    /// encryption, whatever the endpoint says.
    fn guarded(&self, endpoint: Endpoint) -> Result<Endpoint, Box<dyn Error + Send + Sync>> {
        let uri = endpoint.uri().clone();
        let mut endpoint = endpoint;
        if let Some(tls) = &self.tls {
            if uri.scheme_str() != Some("https") {
                let authority = uri.authority().ok_or("the address has no host")?;
                let url = format!("https://{authority}");
                endpoint = create_grpc_client_endpoint(url, Some(&GrpcClientConfig::default()))?;
            }
            let config = ClientTlsConfig::new().ca_certificate(tls.authority.clone());
            let config = match &tls.identity {
                Some(identity) => config.identity(identity.clone()),
                None => config,
            };
            endpoint = endpoint.tls_config(config)?;
        }
        match &self.token {
            Some(token) => Ok(endpoint.user_agent(token.clone())?),
            None => Ok(endpoint),
        }
    }

    /// Returns the certificates of a server.
    ///
    /// # Errors
    /// Returns an error if the server has none of its own.
    pub(crate) fn of_server(&self) -> Result<Option<ServerTlsConfig>> {
        let Some(tls) = &self.tls else { return Ok(None) };
        let Some(identity) = &tls.identity else {
            return plan_err!(
                "a server with --tls-ca needs a certificate: give it with --tls-cert and --tls-key"
            );
        };
        let config = ServerTlsConfig::new().identity(identity.clone());
        Ok(Some(match tls.mutual {
            true => config.client_ca_root(tls.authority.clone()),
            false => config,
        }))
    }

    /// Looks for the token in the headers of a request.
    ///
    /// # Errors
    /// Returns an error that says what to write if it is another one, or there is none.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), String> {
        let Some(token) = &self.token else { return Ok(()) };
        let agent = headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
        // Others append their names.
        let sent = agent.split(|byte| *byte == b' ').find(|name| name.starts_with(PREFIX.as_bytes()));
        match sent {
            // The time that it takes tells nothing about the token but its length.
            Some(sent) if bool::from(sent.ct_eq(token.as_bytes())) => Ok(()),
            Some(_) => Err(OTHER.to_owned()),
            None => Err(missing()),
        }
    }

    /// Returns why a server refuses this access, from the side of a client.
    pub(crate) fn refusal(&self) -> String {
        if self.has_token() { OTHER.to_owned() } else { missing() }
    }
}

const OTHER: &str = "the token is not that of the cluster: give all of its servers and clients the same one";

fn missing() -> String {
    format!("the cluster asks for a token: {WHERE}")
}

fn check_pem(text: &[u8], kind: &str, file: &str) -> Result<()> {
    let text = String::from_utf8_lossy(text);
    let mut begins = text.lines().filter(|line| line.starts_with("-----BEGIN "));
    match begins.any(|line| line.contains(kind)) {
        true => Ok(()),
        false => plan_err!("{file} is not in the format PEM: it has no line `-----BEGIN {kind}-----`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn sent(access: &Access) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(token) = &access.token {
            let agent = format!("{} tonic/0.14", token.to_str().unwrap());
            headers.insert(USER_AGENT, agent.parse().unwrap());
        }
        headers
    }

    #[test]
    fn one_token_opens_and_others_say_what_to_write() {
        let open = Access::default();
        let closed = Access::default().with_token(&format!("{TOKEN}\n")).unwrap();
        let other = Access::default().with_token("0123456789abcdeF").unwrap();
        assert_eq!(closed.check(&sent(&closed)), Ok(()));
        assert_eq!(open.check(&sent(&other)), Ok(()));
        assert_eq!(closed.check(&sent(&other)), Err(other.refusal()));
        assert_eq!(closed.check(&sent(&open)), Err(open.refusal()));
        assert!(open.refusal().contains("--token-file") && open.refusal().contains("BROADLOOM_SQL_TOKEN"));
        let mut longer = HeaderMap::new();
        longer.insert(USER_AGENT, format!("{PREFIX}{TOKEN}0").parse().unwrap());
        assert!(closed.check(&longer).is_err());
    }

    #[test]
    fn tokens_are_long_and_nobody_reads_them() {
        for wrong in ["", "short", "0123456789 abcdef", "0123456789abcdé", &"a".repeat(2000)] {
            let error = Access::default().with_token(wrong).unwrap_err().strip_backtrace();
            assert!(error.contains("16 to 1024") && error.contains("openssl rand -hex 32"), "{error}");
            assert!(wrong.is_empty() || !error.contains(wrong), "{error}");
        }
        let access = Access::default().with_token(TOKEN).unwrap();
        assert_eq!(format!("{access:?}"), "Access { token: true, tls: false }");
        let endpoint = access.endpoint("127.0.0.1", 1).unwrap();
        assert!(!format!("{endpoint:?} {:?}", access.token).contains(TOKEN));
    }

    #[test]
    fn files_that_are_not_pem_are_refused() {
        let certificates = Certificates { authority: b"secret".to_vec(), ..Certificates::default() };
        let error = Access::default().with_certificates(certificates).unwrap_err().strip_backtrace();
        assert!(error.contains("--tls-ca") && error.contains("-----BEGIN CERTIFICATE-----"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
